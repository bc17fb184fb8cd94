# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# OpenSM inside the guest. Sourced by tests/vm/guest, which starts the first one, and by
# tests/net/lib.sh, so that a script can stop, start and reload it.

SM_DIR=/run/opensm
SM_PIDFILE=$SM_DIR/pid

sm_pid()
{
	[ -e "$SM_PIDFILE" ] && echo "$(<"$SM_PIDFILE")"
}

# sm_running: OpenSM is there
sm_running()
{
	local pid

	pid=$(sm_pid) && [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = opensm ]
}

# sm_start [OPTION...]: start OpenSM on the first port, more options of opensm may follow
sm_start()
{
	local gid file

	for file in /sys/class/infiniband/*/ports/1/gids/0; do
		[ -e "$file" ] && read -r gid <"$file" && break
	done
	if [ -z "$gid" ]; then
		echo "sm_start: no InfiniBand port" >&2
		return 1
	fi
	# the lower half of the GID
	gid=${gid#*:*:*:*:}
	gid=0x${gid//:/}
	mkdir -p "$SM_DIR/cache"
	rm -f "$SM_DIR/log"
	cat >"$SM_DIR/conf" <<-END
	log_file $SM_DIR/log
	force_log_flush TRUE
	log_flags 0x03
	partition_config_file $T_PARTITIONS
	sweep_interval 10
	transaction_timeout 1000
	long_transaction_timeout 2000
	max_wire_smps 4
	END
	OSM_CACHE_DIR=$SM_DIR/cache OSM_TMP_DIR=$SM_DIR \
		setsid opensm -F "$SM_DIR/conf" -g "$gid" "$@" >"$SM_DIR/out" 2>&1 </dev/null &
	T_OPENSM_PID=$!
	export T_OPENSM_PID
	echo "$T_OPENSM_PID" >"$SM_PIDFILE"
}

# sm_stop: stop OpenSM and wait until it is gone
sm_stop()
{
	local pid i state

	pid=$(sm_pid) || return 0
	rm -f "$SM_PIDFILE"
	[ -n "$pid" ] || return 0
	kill "$pid" 2>/dev/null
	for i in $(seq 200); do
		[ -d "/proc/$pid" ] || break
		read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat" || break
		[ "$state" != Z ] || break
		[ "$i" != 150 ] || kill -9 "$pid" 2>/dev/null
		sleep 0.1
	done
	wait "$pid" 2>/dev/null
	return 0
}

# sm_restart [OPTION...]: stop it, start it; the new one registers everybody anew
sm_restart()
{
	sm_stop
	sm_start "$@"
}

# sm_reload: make it read $T_PARTITIONS again and sweep the fabric
sm_reload()
{
	local pid

	pid=$(sm_pid) && kill -HUP "$pid"
}

# sm_swept [LOG]: its first sweep is over, and with it all that it writes to a new port
sm_swept()
{
	grep -qs "SUBNET UP" "${1:-$SM_DIR/log}"
}

# sm_ports_active: every port with a cable is ACTIVE (and there is one)
sm_ports_active()
{
	local p n=0 line

	for p in /sys/class/infiniband/*/ports/*; do
		[ -e "$p/state" ] || continue
		read -r line <"$p/phys_state"
		[ "${line#*LinkUp}" != "$line" ] || continue
		read -r line <"$p/state"
		[ "${line#*ACTIVE}" != "$line" ] || return 1
		n=$((n + 1))
	done
	[ $n -gt 0 ]
}
