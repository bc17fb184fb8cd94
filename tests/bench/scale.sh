#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How the driver grows, run inside the guest by tests/bench/run --scale:
#
#	scale.sh METER
#
# One driver, one port, a subnet manager that answers at once, and ghosts as peers. Results go to
# $T_OUT/scale, one "ROW N KEY VALUE" a line: instructions (guest nanoseconds in which the CPU was not
# idle), nanoseconds that passed, messages to the subnet manager, bytes.

set -u
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

meter=$1
peers=${SCALE_PEERS:-10 100 1000 10000}
groups=${SCALE_GROUPS:-10 100 1000}
children=${SCALE_CHILDREN:-1 10 100 500}
packets=${SCALE_PACKETS:-40000}
SA=/sys/kernel/debug/vib/sa
FIRST_LID=4096

keep()
{
	echo "$*" >>"$T_OUT/scale"
}

die()
{
	echo "scale: $*" >&2
	tail -n 3 "$SA" >&2
	exit 1
}

# sa KEY: a number of the manager's line
sa()
{
	sed -n "s/^sa .*\\b$1=\\([0-9]*\\).*/\\1/p" $SA
}

# busy ROW N KEY "ns N idle M": how long the CPU worked, and how long it took
busy()
{
	local words

	read -r -a words <<<"$4"
	keep "$1" "$2" "$3" $((words[1] - words[3]))
	keep "$1" "$2" "$3.took" "${words[1]}"
}

# timed ROW N KEY SA-KEY MIN COMMAND...: COMMAND, and what follows until the manager has counted MIN
timed()
{
	local row=$1 n=$2 key=$3 what=$4 min=$5 said
	shift 5

	said=$("$meter" until $SA "$what" "$min" "$@") || die "$row $n $key"
	busy "$row" "$n" "$key" "$said"
}

# Bytes that the kernel has taken for itself
kernel_bytes()
{
	sleep 1
	awk '$1 == "MemTotal:" { sum += $2 }
		$1 == "MemFree:" || $1 == "Cached:" || $1 == "Buffers:" || $1 == "AnonPages:" { sum -= $2 }
		END { printf "%d\n", sum * 1024 }' /proc/meminfo
}

# Bytes in the objects that kmalloc has given away, when nothing is on its way to or from it any more.
# What else a kernel does with memory comes in pages and would hide what a peer takes. A table of more
# than 8 KB comes in pages, too: it is not in this number.
object_bytes()
{
	local last='' now i

	for i in $(seq 50); do
		sleep 1
		now=$(awk '$1 ~ /^kmalloc-/ { sum += $2 * $4 } END { printf "%d\n", sum }' /proc/slabinfo)
		[ "$now" != "$last" ] || break
		last=$now
	done
	echo "$now"
}

up()
{
	ip link set "$T_IF_A" up
	wait_for 60 carrier_a || die "no carrier"
}

# each_peer N: a line for ip -batch for each of N peers, whose addresses begin with 10.96.0.0
each_peer()
{
	local i

	for ((i = 0; i < $1; i++)); do
		printf '%s 10.%d.%d.%d lladdr 00:80:%02x:%02x:fe:80:00:00:00:00:00:00:02:56:49:42:00:30:%02x:%02x nud permanent dev %s\n' \
			"neigh replace" $((96 + i / 65536)) $((i / 256 % 256)) $((i % 256)) \
			$(((FIRST_LID + i) / 256)) $(((FIRST_LID + i) % 256)) \
			$(((FIRST_LID + i) / 256)) $(((FIRST_LID + i) % 256)) "$T_IF_A"
	done
}

scale_peers()
{
	local n said paths before after

	echo "ghost add sw0:5 n=20000 base=$FIRST_LID" >"$T_CTL" || die "no ghosts"
	echo "sa sweep sw0" >"$T_CTL"
	for n in $peers; do
		ip addr replace 10.96.255.254/11 dev "$T_IF_A"
		up
		each_peer "$n" | ip -batch - || die "no neighbours"
		before=$(object_bytes)
		paths=$(sa path)
		timed peers "$n" resolve path $((paths + n)) "$meter" spray 10.96.0.0 9 18 "$n" "$n"
		after=$(object_bytes)
		keep peers "$n" messages $(($(sa path) - paths))
		# of fewer, what the rest of the kernel does meanwhile is larger
		[ "$n" -lt 1000 ] || keep peers "$n" bytes $(((after - before) / n))
		# the clock leaps while the guest waits for its disk, far enough for a driver to forget
		# idle peers: so they are asked for anew, if need be, right before packets are counted
		"$meter" spray 10.96.0.0 9 18 "$n" "$n" >/dev/null
		said=$("$meter" spray 10.96.0.0 9 18 "$packets" "$n") || die "spray $n"
		busy peers "$n" packets "$said"
		keep peers "$n" count "$packets"
		paths=$(sa path)
		timed peers "$n" rereg path "$paths" sh -c "echo 'set vib0:1 rereg' >$T_CTL; sleep 1"
		timed peers "$n" down path 0 ip link set "$T_IF_A" down
		ip addr flush dev "$T_IF_A"
		ip neigh flush nud permanent dev "$T_IF_A"
	done
	echo "ghost del sw0:5" >"$T_CTL"
}

scale_groups()
{
	local n have joins pid

	sysctl -qw net.ipv4.igmp_max_memberships=100000 net.core.optmem_max=16777216
	ip addr replace 10.96.255.254/11 dev "$T_IF_A"
	for n in $groups; do
		up
		sleep 1
		have=$(sa members) joins=$(sa join)
		timed groups "$n" join members $((have + n)) \
			sh -c "exec $meter join 239.0.0.1 $n $T_IF_A >/tmp/scale.pid"
		read -r pid <"/tmp/scale.pid"
		keep groups "$n" messages $(($(sa join) - joins))
		timed groups "$n" down join 0 ip link set "$T_IF_A" down
		kill "$pid"
	done
}

# each_child N TEXT: a line for each, %d becomes its number, %x its P_Key
each_child()
{
	local i line

	for ((i = 1; i <= $1; i++)); do
		line=${2//%d/$i}
		printf '%s\n' "${line//%x/$(printf '0x%x' $((0x8000 + i)))}"
	done
}

children_do()
{
	each_child "$1" "$2" >/tmp/scale.batch
	echo "ip -batch /tmp/scale.batch"
}

# begin: load the driver anew, which then finds all limits and P_Keys as they are now
begin()
{
	modprobe ib_ipoib || die "the driver does not load"
	wait_for 60 test -e "/sys/class/net/$T_IF_A" || die "no $T_IF_A"
	tc qdisc replace dev "$T_IF_A" root pfifo_fast
}

scale_children()
{
	local n have most last

	most=$(xargs -n 1 <<<"$children" | sort -n | tail -n 1)
	modprobe -r ib_ipoib || die "the driver does not unload"
	each_child "$most" "set vib0:1 pkey %d %x" >"$T_CTL" || die "no P_Keys"
	each_child "$most" "sa group sw0 %x qkey=0x1234" >"$T_CTL" || die "no groups"
	begin
	up
	for n in $children; do
		have=$(sa members)
		last=$(kernel_bytes)
		children_do "$n" "link add link $T_IF_A name c%d type ipoib pkey %x" >/dev/null
		timed children "$n" create join 0 ip -batch /tmp/scale.batch
		children_do "$n" "link set c%d up" >/dev/null
		# each joins the broadcast group and the one of all hosts
		timed children "$n" up members $((have + 2 * n)) ip -batch /tmp/scale.batch
		keep children "$n" bytes $((($(kernel_bytes) - last) / n))
		children_do "$n" "link set c%d down" >/dev/null
		timed children "$n" down join 0 ip -batch /tmp/scale.batch
		children_do "$n" "link del c%d" >/dev/null
		timed children "$n" remove join 0 ip -batch /tmp/scale.batch
	done
}

# what the library does for tests at the end of a script
trap - EXIT
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
for i in 1 2 3; do
	sysctl -qw net.ipv4.neigh.default.gc_thresh$i=100000
done
sysctl -qw net.core.default_qdisc=pfifo_fast
modprobe -r ib_ipoib || die "the driver does not unload"
begin
# what the program ip costs when it has nothing to do; the first time it has to be read from disk
: >/tmp/scale.batch
ip -batch /tmp/scale.batch
timed base 1 ip path 0 ip -batch /tmp/scale.batch
for part in ${SCALE_PARTS:-peers groups children}; do
	"scale_$part"
done
