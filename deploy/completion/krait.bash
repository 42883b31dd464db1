# Completion of krait for bash: krait itself says what may come (user/cmd/common/complete.h).
# shellcheck shell=bash

_krait() {
	local words=() rest piece i last strip line value about width
	local -a values=() abouts=()
	local files="" user="" quoted=""

	COMPREPLY=()
	# bash splits words at = and : too (COMP_WORDBREAKS); krait wants those that the user typed.
	rest=${COMP_LINE:0:COMP_POINT}
	rest=${rest#"${rest%%[![:space:]]*}"}
	rest=${rest#"${COMP_WORDS[0]}"}
	for ((i = 1; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		if [[ $i == 1 || $rest == [[:space:]]* ]]; then
			rest=${rest#"${rest%%[![:space:]]*}"}
			words+=("")
		fi
		[[ $i == "$COMP_CWORD" ]] && piece=$rest
		words[${#words[@]} - 1]+=$piece
		rest=${rest#"$piece"}
	done
	last=${words[${#words[@]} - 1]}
	# bash replaces only the part behind the last of them.
	[[ $piece == *[!=:]* ]] || piece=
	strip=${last%"$piece"}

	while IFS=$'\t' read -r value about; do
		case $value in
		:file) files=f ;;
		:directory) files=d ;;
		:user) user=u ;;
		:command)
			# bash-completion 2.12 has renamed it.
			for i in _comp_command_offset _command_offset; do
				declare -F "$i" >/dev/null || continue
				"$i" $((about + 1))
				return
			done
			compopt -o default
			return
			;;
		*)
			values+=("${value#"$strip"}")
			abouts+=("$about")
			continue
			;;
		esac
		# About the words that the shell knows: what stands in front of them.
		last=${last#"$about"}
		strip=${strip#"$about"}
	done < <(command krait --complete "${words[@]}" 2>/dev/null </dev/null)

	# File names alone are best left to bash, which knows of ~ and folders.
	[[ $files && ${#values[@]} == 0 ]] && compopt -o filenames && quoted=1
	while IFS= read -r line; do
		[[ $quoted || ! $files || ! -d $line ]] || line+=/
		values+=("${line#"$strip"}")
		abouts+=("")
	done < <(case $files$user in
		[fd]) compgen -"$files" -- "$last" ;;
		u) compgen -u -- "$last" ;;
		esac)
	compopt -o nosort 2>/dev/null
	[[ ${#values[@]} == 1 && ${values[0]} == *[=/] ]] && compopt -o nospace
	width=$((${COLUMNS:-80} - 2))
	for ((i = 0; i < ${#values[@]}; i++)); do
		value=${values[i]}
		# Names of functions have what the shell would take for its own.
		[[ $quoted || $value != *[!A-Za-z0-9_.,:=/@%+-]* ]] || printf -v value %q "$value"
		# What a word means is shown beside it, if there are several: then bash puts in only what they begin with.
		if [[ ${#values[@]} -gt 1 && ${abouts[i]} && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
			printf -v line '%-18s  %s' "$value" "${abouts[i]}"
			value=${line:0:width}
		fi
		COMPREPLY+=("$value")
	done
} && complete -F _krait krait
