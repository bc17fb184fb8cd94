#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Check tests/net/field.txt: every fault has a test that exists, or a reason, and make check runs it unless
# the table says that it is run by hand. Runs anywhere, without a guest; the tests themselves are in
# field-*.sh.
#
#	tests/net/field.sh [TABLE]

set -u
here=$(dirname "${BASH_SOURCE[0]}")
table=${1:-$here/field.txt}

# all labels there are
labels="B01 B02 B04 B05 B06 B07 B09 B10 B11 B12 B13 B15 B16 B18 B19 B21 B23 B26 B28 B31 B32 B33
	B35 B37 B40 B42 B43 B44 B45 B46 B47 B49 B51 B53 B54 B55 B57 B58 B60"

passed=0 failed=0
declare -A seen=()

verdict()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $2"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $2"
	fi
}

# has_test SCRIPT NAME: a test of that script has a name that begins so
has_test()
{
	local verb

	for verb in check check_not is ok; do
		! grep -qF -- "$verb \"$2" "$here/$1" || return 0
		# names may begin with a side of the fabric
		! grep -qE -- "^\s*$verb \"[AB]: " "$here/$1" || ! grep -qF -- ": $2" "$here/$1" || return 0
	done
	return 1
}

# row_runs SCRIPT LABEL: a row of make check runs it, all of that script or this label of it
row_runs()
{
	local row word

	while read -r row; do
		[ -n "$row" ] || return 0
		for word in $row; do
			[[ $word != "${2,,}" && $word != "${2,,}_"* ]] || return 0
		done
	done < <(sed -n "s,.*tests/net/$1\>,,p" "$here/../check")
	return 1
}

[ -r "$table" ] || { echo "field: cannot read $table" >&2; exit 2; }
while IFS=$'\t' read -r label script text; do
	case $label in
	""|"#"*) continue ;;
	esac
	text=${text##$'\t'}
	hand=no
	[[ $label != *"*" ]] || hand=yes
	label=${label%"*"}
	case " ${labels//[[:space:]]/ } " in
	*" $label "*) seen[$label]=1 ;;
	*) verdict 1 "$label is no label"; continue ;;
	esac
	if [ "$script" = - ]; then
		[ -n "$text" ]
		verdict $? "$label: a reason is given"
	else
		[ -e "$here/$script" ] && [ -n "$text" ] && has_test "$script" "$text"
		verdict $? "$label: $script has a test '$text'"
		if [ $hand = no ]; then
			row_runs "$script" "$label"
			verdict $? "$label: make check runs that of $script"
		else
			! row_runs "$script" "$label"
			verdict $? "$label: $script is run by hand, as the table says"
		fi
	fi
done < <(grep -v $'^\t' "$table" | tr -s '\t')
for label in $labels; do
	[ -n "${seen[$label]:-}" ]
	verdict $? "$label is in the table"
done
echo "1..$((passed + failed))"
echo "# $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
