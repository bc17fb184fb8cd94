# SPDX-License-Identifier: GPL-2.0
ifneq ($(KERNELRELEASE),)

obj-$(CONFIG_INFINIBAND_IPOIB) += ib_ipoib.o

ib_ipoib-y := ipoib_main.o ipoib_ctl.o ipoib_xmit.o ipoib_path.o \
	      ipoib_multicast.o ipoib_target.o ipoib_tx.o ipoib_rx.o \
	      ipoib_ib.o ipoib_vlan.o ipoib_netlink.o ipoib_sysfs.o \
	      ipoib_ethtool.o ipoib_stats.o ipoib_cma.o ipoib_trace.o \
	      ipoib_addr.o ipoib_policy.o
ib_ipoib-$(CONFIG_INFINIBAND_IPOIB_CM) += ipoib_cm.o ipoib_cm_conn.o \
	      ipoib_cm_tx.o ipoib_cm_rx.o ipoib_cm_policy.o ipoib_pmtu.o
ib_ipoib-$(CONFIG_INFINIBAND_IPOIB_DEBUG) += ipoib_fs.o

# the trace machinery includes ipoib_trace.h from elsewhere
CFLAGS_ipoib_trace.o := -I$(src)

else

# What a person types; "make help" lists it. The scripts behind it say more in their first lines.

KVER ?= $(shell KVER= bash -c '. tests/vm/common.sh; debian_release' 2>/dev/null)

.PHONY: all module modules_install setup demo check lint bench clean help

all: module

module:
	@dir=$$(tests/vm/build --verbose --only ipoib "$(KVER)") && \
		cp "$$dir/ipoib/ib_ipoib.ko" . && echo "ib_ipoib.ko is built for $${dir##*/}"

modules_install: module
	$(if $(word 2,$(INSTALL_MOD_PATH)),$(error INSTALL_MOD_PATH must have no blanks in it))
	$(MAKE) -C "/lib/modules/$(KVER)/build" M="$(CURDIR)/build/$(KVER)/ipoib" \
		INSTALL_MOD_PATH="$(abspath $(INSTALL_MOD_PATH))" \
		INSTALL_MOD_DIR=updates INSTALL_MOD_STRIP=1 modules_install
	PATH="$$PATH:/usr/sbin:/sbin" depmod -b "$(or $(abspath $(INSTALL_MOD_PATH)),/)" "$(KVER)"

setup:
	@tests/setup

demo check lint: setup
	@tests/$@

bench: setup
	@tests/bench/run $(ARGS)

clean:
	rm -rf build ib_ipoib.ko

help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST))

#: make                  build ib_ipoib.ko for KVER, by default the newest Debian 6.12 kernel
#: make modules_install  install it into updates/, where it wins over the kernel's own
#: make demo             boot a virtual machine with a virtual fabric and show traffic over it
#: make check            run all tests
#: make lint             run the static checks only
#: make bench            measure against the kernel's own ib_ipoib; with ARGS=--scale how both
#:                       grow with peers, multicast groups and children
#: make setup            install the Debian packages that all this needs (done by the four above)
#: make clean            remove what was built here (not the debug kernel in the cache)

endif
