# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# What the parts of the conformance suite share. Sourced by run.sh after tests/net/lib.sh.
#
# Where the two drivers differ on purpose, a subtest names both values and the reason:
#	differs NAME GOT STOCK OURS WHY
# passes if GOT is what the driver under test ought to say, and prints the other one and the reason.
#
# Wrong input:
#	refused NAME STOCK OURS WHY COMMAND...
# COMMAND prints "OK" or the name of an error, then perhaps a text, as nl.py and poke.py do. It has
# to be the one given for the driver, and nothing may have changed afterwards. Ours has to say a
# word about it, in that text or in the kernel log, unless WHY is "core": then the network stack
# refuses before the driver hears of it, or rights are missing. WHY explains where STOCK and OURS
# differ.

here=$T_ROOT/tests/net/conformance
ib_a=/sys/class/net/$T_IF_A
ipoib_dbg=/sys/kernel/debug/ipoib
# shellcheck disable=SC2034 # for the parts
params=/sys/module/ib_ipoib/parameters

# Python without its site packages, which take most of the time in an emulated guest
nl()
{
	python3 -IS "$here/nl.py" "$@"
}

poke()
{
	python3 -IS "$here/poke.py" "$@"
}

# put FILE TEXT: write and print how it went, by the name of an error; FILE is below the interface A,
# TEXT may contain \n and the like. Without another program, for these are slow in an emulated guest.
put()
{
	local said

	said=$({ printf '%b' "$2" >"$ib_a/$1"; } 2>&1) && echo OK && return
	case $said in
	*"Invalid argument") echo EINVAL ;;
	*"Name not unique on network") echo ENOTUNIQ ;;
	*"No such device") echo ENODEV ;;
	*"File exists") echo EEXIST ;;
	*) echo "$said" ;;
	esac
}

differs()
{
	local name=$1 got=$2 stock=$3 ours=$4 why=$5

	case $T_DRIVER in
	stock) is "$name" "$got" "$stock" ;;
	*) is "$name" "$got" "$ours" ;;
	esac || return
	note "differs: stock '$stock', ours '$ours': $why"
}

# view: all that the interfaces have and that a refused request must not change
view()
{
	local links state

	links=$(ip -d -o link show type ipoib; ip -n "$T_NS_B" -d -o link show type ipoib)
	for state in UP DOWN LOWERLAYERDOWN UNKNOWN; do
		links=${links// state $state/}
	done
	echo "$links"
}

# has_word MARK: since that line of the kernel log the driver has said something
has_word()
{
	local log

	log=$(dmesg)
	[[ ${log##*"$1"} =~ ipoib|ib[0-9]+(\.[0-9a-f]+)?:\  ]]
}

refused()
{
	local name=$1 stock=$2 ours=$3 why=$4 want before after got mark=refusal-$((lib_count + 1))
	shift 4

	want=$ours
	[ "$T_DRIVER" != stock ] || want=$stock
	before=$(view)
	echo "conformance: $mark" >/dev/kmsg
	got=$("$@")
	after=$(view)
	if [ "${got%% *}" != "$want" ]; then
		not_ok "$name: $want" "it was: $got"
		return
	fi
	if [ "$before" != "$after" ]; then
		not_ok "$name: $want" "something changed: $(diff <(echo "$before") <(echo "$after"))"
		return
	fi
	if [ "$T_DRIVER" != stock ] && [ "$want" != OK ] && [ "$got" = "$want" ] &&
	   [ "$why" != core ] && ! has_word "$mark"; then
		not_ok "$name: $want" "no word why"
		return
	fi
	ok "$name: $want"
	[ "$stock" = "$ours" ] || note "differs: stock '$stock', ours '$ours': $why"
	[ "$got" = "$want" ] || note "says: ${got#* }"
}

# --- groups and paths as the driver shows them

# short_gid GID: as debugfs prints it, without zeros in front
short_gid()
{
	sed 's/^0*\([0-9a-f]\)/\1/; s/:0*\([0-9a-f]\)/:\1/g' <<<"$1"
}

# gid_of PORT: its first GID, as sysfs has it; sa_gid PORT: as OpenSM writes it
sa_gid()
{
	python3 -c 'import ipaddress, sys; print(ipaddress.ip_address(sys.argv[1]))' "$(gid_of "$1")"
}

gid_of()
{
	cat "/sys/class/infiniband/vib0/ports/$1/gids/0"
}

# block FILE GID: one block of a debugfs file
block()
{
	awk -v RS= -v gid="GID: $2" 'index($0 "\n", gid "\n") == 1' "$ipoib_dbg/$1"
}

# group MGID [IF]: the block of a group
group()
{
	block "${2:-$T_IF_A}_mcg" "$1"
}

# group_is MGID KEY VALUE [IF]
group_is()
{
	group "$1" "${4:-}" | grep -Eqx " +$2: +$3"
}

no_group()
{
	[ -z "$(group "$@")" ]
}

path_is()
{
	block "${4:-$T_IF_A}_path" "$1" | grep -Eqx " +$2: +$3"
}

no_path()
{
	[ -z "$(block "${2:-$T_IF_A}_path" "$1")" ]
}

# peer_address GUID-END: hardware address of a peer that does not exist
peer_address()
{
	echo "80:00:00:48:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:$1"
}

# member MGID PORT: join state that OpenSM has for that port in that group, as 0x1, or -
member()
{
	saquery --smkey 1 -m | python3 -IS "$here/sa.py" member "$1" "$(gid_of "$2")"
}

# --- packets and counters over a command

# sniffed a|b raw|dgram COMMAND...: what a packet socket there sees until COMMAND ends
sniffed()
{
	local side=$1 how=$2 pid out
	shift 2

	out=$(mktemp)
	lib_start_on "$side" python3 -IS "$here/poke.py" sniff "$(parent_of "$side")" "$how" >"$out"
	pid=$STARTED
	wait_for 10 grep -q ready "$out"
	"$@" >/dev/null 2>&1
	stop "$pid"
	cat "$out"
	rm -f "$out"
}

# dropped_are BEFORE N: A has dropped N packets since it had dropped BEFORE
dropped_are()
{
	[ $(($(counter_a tx_dropped) - $1)) = "$2" ]
}

# grown COUNTER COMMAND...: by how much a counter of A has grown
grown()
{
	local counter=$1 before
	shift

	before=$(counter_a "$counter")
	"$@" >/dev/null 2>&1
	echo $(($(counter_a "$counter") - before))
}

carrier_changes()
{
	cat "/sys/class/net/${1:-$T_IF_A}/carrier_changes"
}

no_carrier_a()
{
	! carrier_a "$@"
}

# shellcheck disable=SC2120 # most calls mean the default
ping_b()
{
	ping -q -c 1 -W 1 "${1:-$T_IP4_B}" >/dev/null
}

exists()
{
	[ -e "/sys/class/net/$1" ]
}

gone()
{
	! exists "$1"
}

# sm_silent: OpenSM hears everything and answers nothing; sm_talks: it does again
sm_silent()
{
	kill -STOP "$(sm_pid)"
}

sm_talks()
{
	kill -CONT "$(sm_pid)"
}

# sm_anew [OPTION...]: another OpenSM, which remembers no LIDs, groups and requests of the last one
sm_anew()
{
	sm_stop
	rm -rf "$SM_DIR/cache"
	sm_start "$@"
}

# --- the state that every part begins with

# load [PARAMETER...]: load the module anew
load()
{
	! grep -q '^ib_ipoib ' /proc/modules || modprobe -r ib_ipoib || return
	modprobe ib_ipoib "$@"
}

# restart a: interface down and up, wait for the carrier
restart_a()
{
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	wait_for 30 carrier_a
}

# quiet_ipv6 0|1: no IPv6 on both interfaces, so that nothing speaks by itself
quiet_ipv6()
{
	sysctl -qw "net.ipv6.conf.$T_IF_A.disable_ipv6=$1"
	in_b sysctl -qw "net.ipv6.conf.$T_IF_B.disable_ipv6=$1"
	[ "$1" = 1 ] && return
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
}
