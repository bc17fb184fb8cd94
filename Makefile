# SPDX-License-Identifier: GPL-2.0
ifneq ($(KERNELRELEASE),)

obj-$(CONFIG_INFINIBAND_IPOIB) += ib_ipoib.o

ib_ipoib-y := ipoib_main.o ipoib_ctl.o ipoib_xmit.o ipoib_path.o \
	      ipoib_multicast.o ipoib_target.o ipoib_tx.o ipoib_rx.o \
	      ipoib_ib.o ipoib_vlan.o ipoib_netlink.o ipoib_sysfs.o \
	      ipoib_ethtool.o ipoib_addr.o ipoib_policy.o

else

endif
