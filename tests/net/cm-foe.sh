#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected mode of our driver and a peer that means no good: tests/vib/vib_foe.c.
#
#	tests/vm/run tests/net/cm-foe.sh [SUITE...]
#
# SUITES: requests strays granted storm frames crowd flood (all of them). The foe sits at the port of B and
# turns on A, whose traffic with B has to go on.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "hostile peers"

file=$conn_a

case $T_KERNEL in
debug) flood=1500 ;;
*) flood=20000 ;;
esac

# count WORD: the number behind a word of the counters
count()
{
	numbers "$1" <"$file" | head -n 1
}

limit()
{
	sed -n 's/^accepted: [0-9]* of \([0-9]*\).*/\1/p' "$file"
}

grown_to()
{
	[ "$(count "$1")" -ge "$2" ]
}

# mark NAME: a line in the kernel log; lines TEXT: how many have that text since then
mark()
{
	mark_text="cm-foe: $1"
	echo "$mark_text" >/dev/kmsg
}

lines()
{
	dmesg | sed "1,/$mark_text\$/d" | grep -c "$1"
}

# no_more_than N GOT
no_more_than()
{
	echo "$2"
	[ "$2" -le "$1" ]
}

# refuse NAME heard|unheard REQUEST: 50 requests that nobody grants; does the driver hear of them?
refuse()
{
	local name=$1 who=$2 heard refused
	shift 2

	heard=$(count heard) refused=$(count refused)
	check "requests: $name" foe req n=50 peers=50 "$@"
	case $who in
	heard)
		check "requests: $name: counted" wait_for 10 grown_to refused $((refused + 50))
		;;
	unheard)
		# one that is heard comes last
		foe req sid="$(sid)" seed=77
		check "requests: $name: the core refuses" wait_for 10 grown_to heard $((heard + 1))
		is "requests: $name: the driver did not hear" "$(count heard)" $((heard + 1))
		;;
	esac
	check "requests: $name: none is left" wait_for 20 accepted_is 0
}

suite_requests()
{
	local data seed=100 heard refused

	heard=$(count heard) refused=$(count refused)
	for data in noise=1 size=0 size=1 size=4 size=4294967295 "size=0 qpn=0xffffffff"; do
		seed=$((seed + 1))
		# shellcheck disable=SC2086 # two words
		check "requests: private data $data" foe req n=50 sid="$(sid)" seed=$seed timeout=12 $data
		check "requests: they are granted" wait_for 10 grown_to heard $((heard + (seed - 100) * 50))
		check "requests: and go, for nobody says that he heard" wait_for 20 accepted_is 0
	done
	is "requests: none of these was refused" "$(count refused)" "$refused"
	mark "refusals"
	refuse "unreliable" heard sid="$(sid)" type=1
	refuse "datagrams" heard sid="$(sid)" type=2
	refuse "another partition" heard sid="$(sid)" pkey="$T_PKEY"
	refuse "a P_Key that the port has not" unheard sid="$(sid)" pkey=0x1234
	refuse "another GID" unheard sid="$(sid)" gid=0x1234
	refuse "a queue pair of nobody" unheard sid="$(sid 123456)"
	check "requests: there is a line about refusals" [ "$(lines refused)" -ge 1 ]
	check "requests: not one for each" no_more_than 60 "$(lines refused)"
	check "requests: nonsense instead" foe stray n=500 attr=0x10
	check "requests: B answers" ping_b
}

suite_strays()
{
	local attr

	# MRA REJ REP RTU DREQ DREP SIDR-REQ SIDR-REP LAP APR, and one that is none
	for attr in 0x11 0x12 0x13 0x14 0x15 0x16 0x17 0x18 0x19 0x1a 0x1b; do
		check "strays: 300 messages of type $attr" foe stray n=300 attr="$attr"
	done
	check "strays: B answers" ping_b
	check "strays: nothing came of it" accepted_is 0
}

# met NAME QPN MOST HOW [SIZE]: A asks the foe, at most so often, and gets the answer HOW
met()
{
	local name=$1 qpn=$2 most=$3 pinger

	foe close
	check "granted: $name: the foe listens" foe listen sid="$(sid "$qpn")" how="$4" size="${5:-65524}"
	mark "$name"
	know_foe "$qpn"
	ping -q -i 0.1 -c 40 -W 1 "$dest" >/dev/null &
	pinger=$!
	is "granted: $name: no ping to B is lost" "$(ping -q -c 40 -i 0.1 -W 2 "$T_IP4_B" | lost)" 0
	wait "$pinger"
	check "granted: $name: the foe was asked" [ "$(result_of asked)" -ge 1 ]
	check "granted: $name: at most $most times" no_more_than "$most" "$(result_of asked)"
	check "granted: $name: a few lines" no_more_than 20 "$(lines "$T_IF_A: ")"
	note "asked $(result_of asked) times; $(grep "qpn 0x$qpn" "$file")"
}

# Each that was asked for has become something, or is being asked for
adds_up()
{
	sed -n 's/^asked_for: \([0-9]*\) opened \([0-9]*\) rejected \([0-9]*\) silent \([0-9]*\) unusable \([0-9]*\) withdrawn \([0-9]*\)$/\1 \2 \3 \4 \5 \6/p' "$file" |
		awk -v now="$(grep -c '^to .* requested ' "$file")" '
			END { print NR, $0, now; exit NR != 1 || $1 != $2 + $3 + $4 + $5 + $6 + now }'
}

suite_granted()
{
	local before

	before=$(count unusable)
	met "a size of 0" 7ffff0 4 rep 0
	met "a size of 4" 7ffff1 4 rep 4
	check "granted: those of no use are counted" [ "$(count unusable)" -ge $((before + 2)) ]
	met "a size of 5" 7ffff2 4 rep 5
	met "a size of 4 GB" 7ffff3 4 rep 4294967295
	met "hangs up at once" 7ffff4 4 dreq
	met "refuses" 7ffff5 4 rej
	met "is silent" 7ffff6 4 silent
	foe close
	ip neigh del "$dest" dev "$T_IF_A"
	ip link set "$T_IF_A" down
	is "granted: nothing is left" "$(grep -c '^to ' "$file")" 0
	check "granted: all that was asked for is accounted for" adds_up
	up_a
}

# A packet to each of N addresses of the foe, ten times a second, for five seconds
pester()
{
	python3 -IS -c '
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(50):
    for i in range(int(sys.argv[1])):
        sock.sendto(b"x", (f"10.77.0.{100 + i}", 9))
    time.sleep(0.1)
' "$1"
}

# tries_in SECONDS: how often a peer that refuses is asked in that time, and once more: pauses double
tries_in()
{
	local at=0 pause=2 n=2

	while [ $((at += pause)) -le "$1" ]; do
		n=$((n + 1)) pause=$((pause * 2))
	done
	echo "$n"
}

# Many who refuse, and refusals of what nobody has asked for, while there is a connection to B
suite_storm()
{
	local n=48 i before rejected qpn begun most

	check "storm: connected" wait_for 20 ping -q -c 1 -W 2 -s 20000 "$T_IP4_B"
	foe close
	for ((i = 0; i < n; i++)); do
		qpn=$(printf '%06x' $((0x7ffe00 + i)))
		foe listen sid="$(sid "$qpn")" how=rej
		know_foe "$qpn" "10.77.0.$((100 + i))"
	done
	mark "storm"
	before=$(own "$file") rejected=$(count rejected)
	pings_start 20000
	begun=$SECONDS
	pester "$n" &
	check "storm: 3000 refusals out of the blue" foe stray n=3000 attr=0x12 seed=5
	wait $!
	most=$(tries_in $((SECONDS - begun + 1)))
	pings_end
	is "storm: no ping to B is lost" "$pings_lost" 0
	is "storm: the connection to B is the same" "$(own "$file")" "$before"
	check "storm: each of $n was asked" [ "$(result_of asked)" -ge "$n" ]
	check "storm: but no more than its pauses allow" no_more_than $((most * n)) "$(result_of asked)"
	check "storm: all refusals are counted" [ $(($(count rejected) - rejected)) -ge "$n" ]
	check "storm: a few lines" no_more_than 20 "$(lines "$T_IF_A: ")"
	foe close
	for ((i = 0; i < n; i++)); do
		ip neigh del "10.77.0.$((100 + i))" dev "$T_IF_A"
	done
}

suite_frames()
{
	local before len

	before=$(counter_a rx_length_errors)
	mark "frames"
	check "frames: over connections" foe frames sid="$(sid)" \
		len=4,3,2,1,0,5,65524,65525,65536,65537,100000,4
	for len in 0 1 2 3 5 65524 65525 65536; do
		is "frames: $len bytes fit into a buffer" "$(result_of "$len")" success
	done
	for len in 65537 100000; do
		check "frames: $len bytes do not" sh -c "echo '$(result_of "$len")' | grep -q remote"
	done
	is "frames: the next connection works" "$(result_of 4 | xargs)" "success success"
	check "frames: counted" wait_for 5 sh -c "[ \$(cat /sys/class/net/$T_IF_A/statistics/rx_length_errors) = $((before + 8)) ]"
	check "frames: a line" [ "$(lines "$T_IF_A: connection")" -ge 1 ]
	check "frames: all have gone" wait_for 20 accepted_is 0
	check "frames: B answers" ping_b
	# long messages are noticed by the fabric, too
	vib_reset
}

# All from one port: it cannot have all connections that there are
suite_crowd()
{
	local accepted i asked was

	was=$(limit)
	echo 128 >"$params/max_conn_qp"
	check "crowd: requests of one port" foe req n=500 peers=0 sid="$(sid)" seed=300 timeout=18 retries=15
	check "crowd: most are refused" wait_for 20 grown_to refused 400
	accepted=$(accepted)
	check "crowd: $accepted are granted, not more than half of all" [ "$accepted" -gt 0 -a "$accepted" -le 64 ]
	check "crowd: B answers" ping_b

	# nor does A ask one port for more, whatever queue pairs are told to be there
	for i in $(seq 100); do
		know_foe "$((700000 + i))"
		echo >"/dev/udp/$dest/9"
	done
	asked=$(grep -c "^to " "$conn_a")
	check "crowd: $asked are asked for" [ "$asked" -ge 30 -a "$asked" -le 64 ]

	# and of ports that nobody knows, if there are many, one each
	check "crowd: many ports that nobody knows" "$T_ROOT/tests/net/field.py" strangers "$T_IF_A" 3000
	for i in $(seq 60); do
		ip neigh replace "$dest" lladdr "80:00:00:$((10 + i % 3)):fe:80:00:00:00:00:00:00:02:56:49:00:00:99:99:0$((i % 5))" \
			dev "$T_IF_A" nud permanent
		echo >"/dev/udp/$dest/9"
	done
	is "crowd: one each of strangers" "$(grep -c '^to .*:0099:990' "$conn_a")" 5
	echo "$was" >"$params/max_conn_qp"
	ip neigh del "$dest" dev "$T_IF_A"
	check "crowd: B still answers" ping_b
	ip link set "$T_IF_A" down
	up_a
}

free_kb()
{
	sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

# sees_flood BEFORE: what has been sent has been heard, or lost by the fabric
sees_flood()
{
	[ $(($(count heard) - $1 + $(vib oracles rx_no_buffer))) -ge "$flood" ]
}

suite_flood()
{
	local before heard refused begin took free

	vib_reset
	before=$(vib objects rc) free=$(free_kb) heard=$(count heard) refused=$(count refused)
	mark "flood"
	pings_start 56
	begin=$SECONDS
	check "flood: $flood requests, each from somebody else" \
		foe req n="$flood" sid="$(sid)" seed=400 timeout=20 retries=15
	# a queue pair for management has no flow control: many may have found no buffer
	check "flood: all are heard or lost" wait_for 120 sees_flood "$heard"
	[ "$flood" -le "$(limit)" ] ||
		check "flood: many are refused" grown_to refused $((refused + flood / 20))
	took=$((SECONDS - begin))
	note "$(($(count heard) - heard)) of $flood requests heard in $took s, $(accepted) of $(limit) granted, $(count refused) refused," \
		"$((free - $(free_kb))) kB more in use"
	check "flood: no more granted than allowed" no_more_than "$(limit)" "$(accepted)"
	check "flood: memory" no_more_than 131072 $((free - $(free_kb)))
	check "flood: a few lines" no_more_than $((40 + took * 10)) "$(lines refused)"
	pings_end
	is "flood: no ping to B was lost" "$pings_lost" 0
	check "flood: B answers" ping_b
	begin=${EPOCHREALTIME/./}
	check "flood: down" ip link set "$T_IF_A" down
	took=$((${EPOCHREALTIME/./} - begin))
	check "flood: in less than 6 s ($((took / 1000)) ms)" [ "$took" -lt 6000000 ]
	is "flood: no connection is left" "$(accepted)" 0
	check "flood: no queue pair is left" wait_for 20 qps_at_most "$before"
	up_a
	check "flood: B answers after that" wait_for 20 ping_b
	check "flood: memory is back" no_more_than 65536 $((free - $(free_kb)))
}

check "the foe" foe_loaded
check "A in connected mode" sh -c "echo connected >/sys/class/net/$T_IF_A/mode"
check "B answers" wait_for 20 ping_b
[ $# -gt 0 ] || set -- requests strays granted storm frames crowd flood
for suite; do
	note "$suite, after $SECONDS s"
	"suite_$suite"
done
check "the foe goes" rmmod vib_foe
done_testing
