# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Library for scripts that tests/vm/run runs in a guest. It works with both drivers.
#
#	. "$T_ROOT/tests/net/lib.sh"
#	check "B answers" ping -c 1 -W 2 "$T_IP4_B"
#	done_testing
#
# A is the side of the root namespace with $T_IF_A, B that of namespace $T_NS_B with $T_IF_B. With
# "tests/vm/run --nodes 2" A is node 1, where the script runs, and B is node 2; what is said here about
# B is true of either.
#
# Results, one line a test ("ok 1 - name", "not ok 2 - name", "ok 3 - name # SKIP why"):
#	ok NAME			it passed
#	not_ok NAME [WHY]	it failed
#	skip NAME WHY		it could not be tried
#	check NAME COMMAND...	passes if COMMAND does; shows its output if it fails
#	check_not NAME COMMAND...	passes if COMMAND fails
#	is NAME GOT WANT	passes if the two are the same text
#	note TEXT		a line of comment
#	done_testing		the last line of a script; ends it with 0 if nothing failed, 1 if
#				something did or nothing was tested, 4 if everything was skipped
# A script that ends without done_testing has failed.
#
# Waiting:
#	wait_for SECONDS COMMAND...	true as soon as COMMAND is, false if it is not in time
#	wait_carrier [SECONDS]		both interfaces have a carrier
#	wait_addresses [SECONDS]	no IPv6 address is tentative any more
#
# Where and what:
#	in_b COMMAND...		run it in namespace b, or in node 2
#	other a|b		the other side
#	parent_of a|b		its interface, ib0 or ib1
#	set_mode a|b MODE	connected or datagram, for that interface
#	on_node2 COMMAND...	run it in node 2 (this is a program, not only for bash): a program with
#				arguments, or one word that is a line for bash. It gets no input; output,
#				errors and exit status come back. Ending it ends the command, too.
#	node2_answers		true if node 2 runs commands
#	driver_of a|b		ours, stock or none
#	addressed_a, addressed_b	give ib0 or ib1 what the runner gave it, and set it up
#	b_back			ib1 has just been made: move it to namespace b, addresses, up
#	bring_up		both have just been made: all of that for both, and wait for carriers
#	reload_driver a|b	with --nodes 2: unload the driver of that node, load it, configure its
#				interface as it was in the beginning
#	counter_a NAME [IF]	a file of statistics/, as rx_packets, of ib0 or IF
#	counter_b NAME [IF]	the same of ib1 or IF in namespace b
#	drops			all drops and errors of both interfaces, summed up
#	link_local a|b [IF]	IPv6 address of that side that is good on its link only
#	carrier_a, carrier_b	true with a carrier; may name an interface
#	zeros N			so many octets of zero, in hex
#	ctl COMMAND...		a line for the control file of the fabric, as: ctl link vib0:1 down
#	ctl_on a|b COMMAND...	the same for that of the node of that side
#	vib KIND NAME		a number out of /sys/kernel/debug/vib/KIND, as: vib oracles lkey_bad
#	vib_reset		set the counters of the fabric to zero, after faults made on purpose
#	port_state N		state of port N of the first HCA, as ACTIVE
#
# Trace events of our driver, in a kernel that has them:
#	trace_on EVENT...	record these from now on, as ipoib_join, or all of them with a dot; those of
#				the kernel as skb/kfree_skb
#	trace_off		no longer
#	traced ARG...		what grep with these arguments finds in the records
#
# Captures of what passes a link port, readable by tshark and tcpdump; for b with --nodes 2, too:
#	capture_start a|b PORT [KB]	listen at a port, as vib0:1; keep at most KB (4096) kilobytes
#	capture_stop a|b [FILE]		end that; put what there is into FILE in this guest
#	capture_lost a|b		packets that found no room any more
#	capture_read FILE OPTION...	tshark on such a file
#
# Children, on side a or b:
#	child_sysfs a|b PKEY		create one through create_child; its name is ib0.8001 or so
#	child_sysfs_del a|b PKEY	remove it again
#	child_netlink a|b PKEY [NAME] [OPTION...]	create one by ip link add
#	child_addr a|b IF ADDR...	set addresses (with prefix length), up, wait for the carrier
#
# Processes that end with the script at the latest:
#	start COMMAND...	in the background; $STARTED is its process id
#	start_b COMMAND...	the same in namespace b
#	stop PID		end it and wait for it
#	iperf_start a|b [PORT]	an iperf3 server on that side; $STARTED is its process id
#	every_size a|b ADDRESS LAST STEP	datagrams of 0, STEP, 2 STEP... octets, to LAST, from that
#				side to an address of the other one come back as they went
#	cast_from a|b GROUP [IF_A IF_B]	that side sends to a multicast group, the other one joins it; true if
#				it gets 20 different packets within 30 s
#	transfer a|b MB [4|6]	send MB megabytes by TCP from that side to the other; true if the
#				SHA-256 of what came is that of what went
#
# OpenSM, see tests/vm/sm.sh: sm_start, sm_stop, sm_restart, sm_reload, sm_running, sm_pid, sm_swept
#	sm_on_node2 FUNCTION...		one of them in node 2, as: sm_on_node2 sm_start
#	sm_second		another one, at port 2 and of priority 2; $STARTED is its process id, its log is
#				$SM_SECOND/log
#	sm_master_is PORT	the subnet is managed from that port, as port 1 sees it

if [ -z "${T_ROOT:-}" ]; then
	echo "this script wants to run in a guest: tests/vm/run ${0##*/}" >&2
	exit 125
fi

# shellcheck source=tests/vm/sm.sh
. "$T_ROOT/tests/vm/sm.sh"

lib_count=0 lib_failed=0 lib_skipped=0 lib_done=no lib_pids=()
STARTED=
lib_said=$(mktemp)
# a pipe that nobody writes to: reading from it with a limit is a sleep that starts no program
exec {lib_nap}<> <(:)

ok()
{
	lib_count=$((lib_count + 1))
	echo "ok $lib_count - $1"
}

not_ok()
{
	lib_count=$((lib_count + 1))
	lib_failed=$((lib_failed + 1))
	echo "not ok $lib_count - $1"
	[ -z "${2:-}" ] || note "$2"
	return 1
}

skip()
{
	lib_count=$((lib_count + 1))
	lib_skipped=$((lib_skipped + 1))
	echo "ok $lib_count - $1 # SKIP ${2:-}"
}

note()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# What a command says goes into a file: with a pipe, one that it leaves running would be waited for.
# What one that fails has started ends with it.
lib_try()
{
	(
		# shellcheck disable=SC2030
		lib_pids=()
		"$@" || lib_end $?
	) >"$lib_said" 2>&1
}

check()
{
	local name=$1 rc
	shift

	lib_try "$@"
	rc=$?
	if [ $rc = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $rc of: $*"$'\n'"$(tail -n 20 "$lib_said")"
	fi
}

check_not()
{
	local name=$1
	shift

	if lib_try "$@"; then
		not_ok "$name" "should have failed: $*"$'\n'"$(tail -n 20 "$lib_said")"
	else
		ok "$name"
	fi
}

is()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got '$2', wanted '$3'"
	fi
}

# lib_end STATUS: with what was started
lib_end()
{
	local p

	# shellcheck disable=SC2031
	for p in ${lib_pids[@]+"${lib_pids[@]}"}; do
		kill "$p" 2>/dev/null
	done
	exit "$1"
}

lib_cleanup()
{
	local rc=$?

	trap - EXIT
	rm -f "$lib_said"
	if [ $lib_done = no ]; then
		echo "Bail out! the script ended with $rc before done_testing"
		[ $rc != 0 ] || rc=1
	fi
	lib_end $rc
}
# an interactive shell may source this too
case $- in *i*) ;; *) trap lib_cleanup EXIT ;; esac

done_testing()
{
	local passed=$((lib_count - lib_failed - lib_skipped))

	lib_done=yes
	echo "1..$lib_count"
	note "$passed passed, $lib_failed failed, $lib_skipped skipped"
	[ $lib_failed = 0 ] || exit 1
	[ $lib_count -gt 0 ] || exit 1
	[ $lib_skipped -lt $lib_count ] || exit 4
	exit 0
}

# With --icount the clock leaps ahead while the guest waits for its disk, so seconds mean little
wait_for()
{
	local end=$((SECONDS + $1 * (1 + 99 * T_ICOUNT)))
	shift

	while ! "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		read -r -t 0.05 -u "$lib_nap"
	done
	return 0
}

node2_answers()
{
	on_node2 true 2>/dev/null
}

in_b()
{
	if [ "${T_NODES:-1}" = 2 ]; then
		on_node2 "$@"
	else
		ip netns exec "$T_NS_B" "$@"
	fi
}

# on_side a|b COMMAND...
on_side()
{
	local side=$1
	shift

	case $side in
	a) "$@" ;;
	b) in_b "$@" ;;
	*) echo "side '$side' is neither a nor b" >&2; return 2 ;;
	esac
}

# shellcheck disable=SC2120
carrier_a()
{
	[ "$(cat "/sys/class/net/${1:-$T_IF_A}/carrier" 2>/dev/null)" = 1 ]
}

# shellcheck disable=SC2120
carrier_b()
{
	[ "$(in_b cat "/sys/class/net/${1:-$T_IF_B}/carrier" 2>/dev/null)" = 1 ]
}

lib_carriers()
{
	# shellcheck disable=SC2119
	carrier_a && carrier_b
}

wait_carrier()
{
	wait_for "${1:-30}" lib_carriers
}

link_local()
{
	on_side "$1" ip -6 -o addr show dev "${2:-$(parent_of "$1")}" scope link |
		sed -n 's,.* inet6 \(fe80[^/]*\)/.*,\1,p'
}

lib_no_tentative()
{
	[ -z "$(ip -6 addr show tentative)" ] && [ -z "$(in_b ip -6 addr show tentative)" ]
}

wait_addresses()
{
	wait_for "${1:-30}" lib_no_tentative
}

counter_a()
{
	cat "/sys/class/net/${2:-$T_IF_A}/statistics/$1"
}

counter_b()
{
	in_b cat "/sys/class/net/${2:-$T_IF_B}/statistics/$1"
}

lib_tracing=/sys/kernel/tracing

trace_on()
{
	local event

	[ -d $lib_tracing ] || return
	mountpoint -q $lib_tracing || mount -t tracefs tracefs $lib_tracing || return
	echo >$lib_tracing/trace
	for event; do
		[[ $event == */* ]] || event=ipoib/$event
		echo 1 >"$lib_tracing/events/$event/enable" || return
	done
}

trace_off()
{
	echo 0 >$lib_tracing/events/enable
}

traced()
{
	grep "$@" $lib_tracing/trace
}

drops()
{
	local c sum=0

	for c in rx_dropped rx_errors tx_dropped tx_errors rx_missed_errors; do
		sum=$((sum + $(counter_a $c) + $(counter_b $c)))
	done
	echo $sum
}

ctl()
{
	echo "$*" >"$T_CTL"
}

vib()
{
	sed -n "s/^$2=\([0-9]*\).*/\1/p" "/sys/kernel/debug/vib/$1"
}

vib_reset()
{
	echo 1 >/sys/kernel/debug/vib/reset
}

# on_node a|b COMMAND...: with one node both sides are in the same
on_node()
{
	if [ "$1" = b ] && [ "${T_NODES:-1}" = 2 ]; then
		on_node2 "${@:2}"
	else
		"${@:2}"
	fi
}

ctl_on()
{
	# shellcheck disable=SC2016
	on_node "$1" sh -c 'echo "$1" >"$2"' _ "${*:2}" "$T_CTL"
}

capture_start()
{
	ctl_on "$1" capture start "$2" "${3:-4096}"
}

capture_stop()
{
	ctl_on "$1" capture stop || return
	[ -z "${2:-}" ] || on_node "$1" cat /sys/kernel/debug/vib/pcap >"$2"
}

capture_lost()
{
	on_node "$1" sed -n 's/.* lost=\([0-9]*\).*/\1/p' /sys/kernel/debug/vib/capture
}

# This tshark knows what InfiniBand looks like, but not the number of the link type in the file (247).
# So it gets one of those that are free for such cases, 147, and is told what that is.
capture_read()
{
	local file=$1
	shift

	{
		head -c 20 "$file"
		printf '\223\0\0\0'
		tail -c +25 "$file"
	} | tshark -o 'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""' -r - "$@" 2>/dev/null
}

sm_on_node2()
{
	# shellcheck disable=SC2016
	on_node2 bash -c '. "$T_ROOT/tests/vm/sm.sh"; "$@"' _ "$@"
}

addressed_a()
{
	ip addr replace "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	ip link set "$T_IF_A" up
}

addressed_b()
{
	in_b ip addr replace "$T_IP4_B/$T_PREFIX4" dev "$T_IF_B"
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
	in_b ip link set "$T_IF_B" up
}

b_back()
{
	wait_for 20 test -e "/sys/class/net/$T_IF_B" || return
	ip link set "$T_IF_B" netns "$T_NS_B" && addressed_b
}

bring_up()
{
	b_back && addressed_a && wait_carrier 60
}

reload_driver()
{
	local dev addr4 addr6

	case $1 in
	a) dev=$T_IF_A addr4=$T_IP4_A addr6=$T_IP6_A ;;
	b) dev=$T_IF_B addr4=$T_IP4_B addr6=$T_IP6_B ;;
	esac
	on_node "$1" rmmod ib_ipoib && on_node "$1" modprobe ib_ipoib || return
	wait_for 20 on_node "$1" test -e "/sys/class/net/$dev" || return
	on_node "$1" ip addr add "$addr4/$T_PREFIX4" dev "$dev" &&
		on_node "$1" ip addr add "$addr6/$T_PREFIX6" dev "$dev" &&
		on_node "$1" ip link set "$dev" up
}

port_state()
{
	sed 's/.*: //' /sys/class/infiniband/vib0/ports/"$1"/state
}

parent_of()
{
	case $1 in
	a) echo "$T_IF_A" ;;
	b) echo "$T_IF_B" ;;
	esac
}

set_mode()
{
	# shellcheck disable=SC2016
	on_side "$1" sh -c 'echo "$2" >"/sys/class/net/$1/mode"' _ "$(parent_of "$1")" "$2"
}

zeros()
{
	printf '%*s' $((2 * $1)) "" | tr ' ' 0
}

child_sysfs()
{
	# shellcheck disable=SC2016
	on_side "$1" sh -c 'echo "$2" >"/sys/class/net/$1/create_child"' _ "$(parent_of "$1")" "$2"
}

child_sysfs_del()
{
	# shellcheck disable=SC2016
	on_side "$1" sh -c 'echo "$2" >"/sys/class/net/$1/delete_child"' _ "$(parent_of "$1")" "$2"
}

child_netlink()
{
	local side=$1 pkey=$2 parent name

	parent=$(parent_of "$side")
	name=${3:-$parent.${pkey#0x}}
	shift 2
	[ $# = 0 ] || shift
	on_side "$side" ip link add link "$parent" name "$name" type ipoib pkey "$pkey" "$@"
}

child_addr()
{
	local side=$1 dev=$2 addr
	shift 2

	for addr in "$@"; do
		on_side "$side" ip addr add "$addr" dev "$dev" || return
	done
	on_side "$side" ip link set "$dev" up || return
	wait_for 30 "carrier_$side" "$dev"
}

start()
{
	"$@" </dev/null &
	STARTED=$!
	# shellcheck disable=SC2031
	lib_pids+=("$STARTED")
}

# ip netns exec becomes the command, so the process id is that of the command; in node 2 the command
# ends with our end of the connection
start_b()
{
	if [ "${T_NODES:-1}" = 2 ]; then
		start on_node2 "$@"
	else
		start ip netns exec "$T_NS_B" "$@"
	fi
}

stop()
{
	local i

	kill "$1" 2>/dev/null
	for i in $(seq 100); do
		kill -0 "$1" 2>/dev/null || break
		[ "$i" != 80 ] || kill -9 "$1" 2>/dev/null
		sleep 0.05
	done
	wait "$1" 2>/dev/null
	return 0
}

lib_listens()
{
	[ -n "$(on_side "$1" ss -Hltn "sport = :$2")" ]
}

SM_SECOND=/tmp/second

sm_second()
{
	local gid

	gid=0x$(cut -d : -f 5- /sys/class/infiniband/vib0/ports/2/gids/0 | tr -d :)
	mkdir -p "$SM_SECOND"
	sed "s#$SM_DIR#$SM_SECOND#" "$SM_DIR/conf" >"$SM_SECOND/conf"
	printf 'sminfo_polling_timeout 500\npolling_retry_number 2\n' >>"$SM_SECOND/conf"
	start env OSM_CACHE_DIR=$SM_SECOND OSM_TMP_DIR=$SM_SECOND \
		sh -c "exec opensm -F $SM_SECOND/conf -g $gid -p 2 >$SM_SECOND/out 2>&1"
}

sm_master_is()
{
	local ports=/sys/class/infiniband/vib0/ports

	[ "$(cat $ports/1/sm_lid)" = "$(cat "$ports/$1/lid")" ]
}

iperf_start()
{
	local port=${2:-5201}

	lib_start_on "$1" iperf3 -s -p "$port" >/dev/null 2>&1
	wait_for 20 lib_listens "$1" "$port"
}

driver_of()
{
	if [ "$1" = b ] && [ "${T_NODES:-1}" = 2 ]; then echo "$T_DRIVER2"; else echo "$T_DRIVER"; fi
}

other()
{
	if [ "$1" = a ]; then echo b; else echo a; fi
}

every_size()
{
	local tool="$T_ROOT/tests/net/datagram.py" to pid rc

	to=$(other "$1")
	lib_start_on "$to" python3 "$tool" echo "$2" 7000 >/dev/null
	pid=$STARTED
	wait_for 60 on_side "$to" sh -c "ss -Hlun 'sport = :7000' | grep -q ." &&
		on_side "$1" python3 "$tool" sizes "$2" 7000 0 "$3" "$4"
	rc=$?
	stop "$pid"
	return $rc
}

cast_from()
{
	local from=$1 to=b dev_from=${3:-$T_IF_A} dev_to=${4:-$T_IF_B} listener rc
	local tool="$T_ROOT/tests/net/datagram.py"

	if [ "$from" = b ]; then
		to=a dev_from=${4:-$T_IF_B} dev_to=${3:-$T_IF_A}
	fi
	lib_start_on "$to" python3 "$tool" listen "$2" "$dev_to" 7010 20 >/dev/null
	listener=$STARTED
	lib_start_on "$from" python3 "$tool" cast "$2" "$dev_from" 7010 20
	wait "$listener"
	rc=$?
	stop "$STARTED"
	return $rc
}

# lib_start_on a|b COMMAND...
lib_start_on()
{
	case $1 in
	a) start "${@:2}" ;;
	b) start_b "${@:2}" ;;
	esac
}

transfer()
{
	local from=$1 mb=$2 family=${3:-4} to addr dir sent got pid port=5300

	dir=$(mktemp -d) || return
	case $from$family in
	a4) to=b addr=$T_IP4_B ;;
	a6) to=b addr=$T_IP6_B ;;
	b4) to=a addr=$T_IP4_A ;;
	b6) to=a addr=$T_IP6_A ;;
	esac
	lib_start_on "$to" python3 "$T_ROOT/tests/net/transfer.py" receive "$addr" "$port" "$mb" >"$dir/got"
	pid=$STARTED
	if ! wait_for 60 lib_listens "$to" "$port"; then
		stop "$pid"
		return 1
	fi
	on_side "$from" python3 "$T_ROOT/tests/net/transfer.py" send "$addr" "$port" "$mb" >"$dir/sent"
	wait "$pid"
	sent=$(cat "$dir/sent") got=$(cat "$dir/got")
	rm -rf "$dir"
	echo "sent $sent, received $got"
	[ -n "$sent" ] && [ "$sent" = "$got" ]
}
