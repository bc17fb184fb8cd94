# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# What the subnet administrator is asked, in the words of OpenSM's own log: which components of the
# records, with which values, when, and when again.

mgid=ff12:401b:ffff::ffff:ffff asked_words=

# listen: OpenSM begins to log all that it is asked; partitions.conf may have changed
listen()
{
	# one thread takes the requests, so that they come in the order of their headers
	sm_anew -D 0x2b -d 2
	wait_for 30 sm_swept
	wait_carrier 40
}

forget()
{
	: >"$SM_DIR/log"
}

# asked WORD...: requests with these words, a line each
asked()
{
	python3 -IS "$here/sa.py" log "$@" <"$SM_DIR/log"
}

# was_asked WORD...: looks at the log only if there is something new in it, or another question
was_asked()
{
	[ "$SM_DIR/log" -nt /tmp/asked ] || [ "$*" != "$asked_words" ] || return 1
	asked_words=$*
	: >/tmp/asked
	[ -n "$(asked "$@")" ]
}

value()
{
	sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p" | head -n 1
}

part_joins_masks()
{
	local me first other path

	me=$(sa_gid 1)
	forget
	restart_a
	wait_for 10 was_asked "Set MCMemberRecord" "mgid=ff12:401b:ffff::1 "
	first=$(asked "Set MCMemberRecord" "$me" | head -n 1)
	note "first: $first"
	is "A9 the first group joined is the broadcast group" "$(value mgid <<<"$first")" $mgid
	is "A9 by MGID, port GID, P_Key and join state alone" "$(value mask <<<"$first")" 0x10083
	is "A9 as full member" "$(value state <<<"$first")" 0x1
	is "A9 with bit 15 of the P_Key" "$(value pkey <<<"$first")" 0xffff
	other=$(asked "Set MCMemberRecord" "$me" "mgid=ff12:401b:ffff::1 " | tail -n 1)
	note "other: $other"
	is "A12 another group with all that it takes to create one" "$(value mask <<<"$other")" 0x173f7
	is "A12 Q_Key of the broadcast group" "$(value qkey <<<"$other")" 0x4321
	is "A12 its MTU, exactly" "$(value mtu <<<"$other")" 0x85
	is "A12 its rate, exactly" "$(value rate <<<"$other")" 0x83
	is "A12 its service level" "$(value sl <<<"$other")" "$(saquery -g --mgid $mgid |
		sed -n 's/.*SL\.*//p' | head -n 1)"
	is "A12 its traffic class" "$(value tclass <<<"$other")" 0x9
	is "A12 its flow label" "$(value flow <<<"$other")" 0x5
	is "A12 its hop limit" "$(value hop <<<"$other")" 0x0
	is "A12 as full member" "$(value state <<<"$other")" 0x1
	other=$(asked "Set MCMemberRecord" "$me" "mgid=ff12:601b:ffff::1 " | tail -n 1)
	is "A13 all nodes of IPv6 as full member" "$(value state <<<"$other")" 0x1

	# B may have been asked for by something else before
	ping -q -c 5 -i 0.2 "$T_IP4_B" >/dev/null
	path=$(asked "PathRecord" "sgid=$me")
	note "path: $path"
	is "A20 one question for the path of a peer" "$(grep -c . <<<"$path")" 1
	is "A20 by DGID, SGID, traffic class, number and P_Key" "$(value mask <<<"$path")" 0x340c
	is "A20 for one path" "$(value numb <<<"$path")" 0x1
	is "A20 with bit 15 of the P_Key" "$(value pkey <<<"$path")" 0xffff
	check "A20 which is a Get" grep -q " Get " <<<"$path"
}

# A peer that nobody has: the subnet administrator says no each time
part_joins_nobody()
{
	local many=few i

	ip neigh replace 10.77.0.99 lladdr "$(peer_address 22)" dev "$T_IF_A"
	forget
	ping -q -c 8 -i 0.2 -W 1 10.77.0.99 >/dev/null
	wait_for 5 was_asked PathRecord dgid=fe80::200:0:0:22
	i=$(asked PathRecord dgid=fe80::200:0:0:22 | wc -l)
	note "questions for 8 packets: $i"
	[ "$i" -lt 6 ] || many=many
	differs "questions about a peer that nobody has" $many many few \
		"a pause between them, for the sake of the subnet manager"
	ip neigh del 10.77.0.99 dev "$T_IF_A"
}

# between LINE LINE: milliseconds from one to the other; they begin with seconds of the day
between()
{
	local from=${1%% *} to=${2%% *}

	echo $(((10#${to/./} - 10#${from/./} + 86400000) % 86400000))
}

part_joins_send_only()
{
	local me line interval first age

	me=$(sa_gid 1)
	interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	sysctl -qw net.ipv4.neigh.default.gc_interval=3
	restart_a
	forget
	poke udp 239.8.3.1 9 10 1 "$T_IF_A"
	wait_for 10 was_asked "Set MCMemberRecord" "$me" mgid=ff12:401b:ffff::f08:301
	line=$(asked "Set MCMemberRecord" "$me" mgid=ff12:401b:ffff::f08:301 | head -n 1)
	first=$line
	note "send-only: $line"
	is "A14 a group for sending with join state 8" "$(value state <<<"$line")" 0x8
	is "A14 and all that it takes to create it" "$(value mask <<<"$line")" 0x173f7
	check "A15 it is left" wait_for 40 was_asked "Delete MCMemberRecord" "$me" mgid=ff12:401b:ffff::f08:301
	line=$(asked "Delete MCMemberRecord" "$me" mgid=ff12:401b:ffff::f08:301 | head -n 1)
	note "leave: $line"
	is "A15 by MGID, port GID and join state" "$(value mask <<<"$line")" 0x10003
	is "A15 with join state 8" "$(value state <<<"$line")" 0x8
	# the packet that it was joined for is the last that was sent there; OpenSM may be slow a little
	age=$(between "$first" "$line")
	note "left after $age ms"
	check "A15 after two intervals at least" [ "$age" -ge 5500 ]
	check "A15 and after three at most" [ "$age" -le 11000 ]
	sysctl -qw net.ipv4.neigh.default.gc_interval="$interval"
	restart_a
}

# sends_to N: A wants to send to another group and asks for it. What it was told before that, it has dealt with.
sends_to()
{
	poke udp "239.8.6.$1" 9 10 1 "$T_IF_A"
	was_asked "Set MCMemberRecord" "mgid=ff12:401b:ffff::f08:60$1"
}

# others VERB: what A said of other groups than those of sends_to
others()
{
	asked "$1 MCMemberRecord" "$me" | grep -v mgid=ff12:401b:ffff::f08:60
}

part_joins_events()
{
	local me

	me=$(sa_gid 1)
	forget
	ctl set vib0:1 rereg
	check "A29 client re-registration: broadcast group joined again" \
		wait_for 10 was_asked "Set MCMemberRecord" "$me" mgid=$mgid
	check "A29 client re-registration: other groups too" \
		wait_for 10 was_asked "Set MCMemberRecord" "$me" "mgid=ff12:601b:ffff::1 "
	# groups that were only sent to may have their time just now
	is "A29 client re-registration: nothing is left" \
		"$(asked "Delete MCMemberRecord" "$me" | grep -e "mgid=$mgid" -e "mgid=ff12:601b:ffff::1 ")" ""
	forget
	ping_b
	wait_for 3 was_asked PathRecord "sgid=$me"
	note "paths after it: $(asked PathRecord "sgid=$me" | wc -l)"
	forget
	ctl event vib0:1 sm_change 3 100
	check "A32 SM change: work goes on" wait_for 10 sends_to 1
	is "A32 SM change: nothing else is joined" "$(others Set)" ""
	is "A32 SM change: nothing is left" "$(others Delete)" ""
	ctl event vib0:1 pkey_change
	check "A33 the same P_Keys: work goes on" wait_for 10 sends_to 2
	is "A33 the same P_Keys: nothing else is joined" "$(others Set)" ""
}

# tries: seconds between requests for the broadcast group; those that are repeated at once, as nobody
# answers, count as one
tries()
{
	asked "Set MCMemberRecord" "$1" mgid=$mgid |
		awk '!last { last = $1 } $1 - last > 1 { printf "%d ", $1 - last + 0.5; last = $1 }'
}

has_tried()
{
	[ "$(tries "$1" | wc -w)" -ge "$2" ]
}

# Without the group the SM refuses; how long until the next try?
part_joins_retry()
{
	local me gaps

	me=$(sa_gid 1)
	sed -i 's/^\(Default.*\), ipoib/\1/' "$T_PARTITIONS"
	ip link set "$T_IF_A" down
	in_b ip link set "$T_IF_B" down
	sm_anew -D 0x2b -d 2
	wait_for 30 sm_swept
	forget
	ip link set "$T_IF_A" up
	check "A10 without a broadcast group it is asked for again and again" \
		wait_for 75 has_tried "$me" 5
	check "A10 and there is no carrier" no_carrier_a
	gaps=$(tries "$me")
	note "gaps: $gaps"
	check "A10 with growing gaps, up to 16 s" awk '{
		for (i = 2; i <= NF; i++)
			if ($i + 1 < $(i - 1))
				exit 1
		exit !($1 <= 3 && $NF >= 13 && $NF <= 18)
	}' <<<"$gaps"
	sed -i 's/^Default=0x7fff/&, ipoib/' "$T_PARTITIONS"
	sm_reload
	check "A11 with the group made there is a carrier" wait_for 40 carrier_a
	in_b ip link set "$T_IF_B" up
	wait_carrier 40
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
}

cp "$T_PARTITIONS" /tmp/partitions
sed -i 's/^\(Default=0x7fff, ipoib, mtu=5\)/\1, rate=3, Q_Key=0x4321, TClass=9, FlowLabel=5/' \
	"$T_PARTITIONS"
listen
part_joins_masks
part_joins_nobody
part_joins_send_only
part_joins_events
part_joins_retry
cp /tmp/partitions "$T_PARTITIONS"
sm_anew
wait_carrier 40
check "B answers" wait_for 30 ping_b
