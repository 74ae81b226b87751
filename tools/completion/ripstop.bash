# Completion of ripstop(1) for bash.

_ripstop() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev= command= i
	COMPREPLY=()
	[ "$COMP_CWORD" -gt 0 ] && prev=${COMP_WORDS[COMP_CWORD - 1]}
	[ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}

	case $command in
	'')
		COMPREPLY=($(compgen -W 'sim compare fabric audit expect nccl nccl-env explain pcap exec devices counters switch libdir help --help --version' -- "$cur"))
		;;
	sim)
		case $prev in
		--json | --html | --flows-csv | --rates-csv | --series-csv | --perfetto | --measured | --pcap)
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$cur"))
			return
			;;
		--pcap-links)
			COMPREPLY=($(compgen -W 'all' -- "$cur"))
			return
			;;
		--seed | --seeds | --set | --threads | --max-time)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--json --html --flows-csv --rates-csv --rate-interval --observe --series-csv --perfetto --measured --trace --timings --pcap --pcap-links --seed --seeds --set
				--threads --max-time --no-diagnosis --quiet --help' -- "$cur"))
		else
			_ripstop_files "$cur" yaml yml json
		fi
		;;
	compare)
		case $prev in
		--json | --html | --csv)
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$cur"))
			return
			;;
		--over)
			COMPREPLY=($(compgen -W 'cc routing transport fabric what-if' -- "$cur"))
			return
			;;
		--vary | --seed | --seeds | --set | --threads | --max-time)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--over --vary --seeds --seed --set --html --csv --json --threads --max-time --quiet --help' -- "$cur"))
		else
			_ripstop_files "$cur" yaml yml json
		fi
		;;
	audit)
		case $prev in
		--price)
			COMPREPLY=($(compgen -W 'fast full none' -- "$cur"))
			return
			;;
		--check | --skip | --explain)
			COMPREPLY=($(compgen -W "$(ripstop audit --list 2>/dev/null | sed -n 's/^\([A-Z][0-9]*\) .*/\1/p')" -- "$cur"))
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--host --since --profile --price --fabric --json --sarif --junit --prometheus --fix-script --show --collect --anonymise --check --skip --list --markdown --explain --strict
				--allow-unknown --verbose --quiet --help' -- "$cur"))
		else
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$cur"))
		fi
		;;
	nccl)
		case $prev in
		--gpu)
			COMPREPLY=($(compgen -W 'V100 A100 A800 H100 H200 H800 H20 B200 GB200 L40' -- "$cur"))
			return
			;;
		--nodes | --gpus | --job | --nccl | --env | --nic | --net | --rank)
			return
			;;
		esac
		if [ "$COMP_CWORD" = 2 ]; then
			COMPREPLY=($(compgen -W 'plan compare --help' -- "$cur"))
		elif [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--nodes --gpus --job --nccl --env --gpu --nic --net --rank --graph --json
				--output --help' -- "$cur"))
		else
			_ripstop_files "$cur" xml yaml yml json log
		fi
		;;
	expect)
		case $prev in
		--test)
			COMPREPLY=($(compgen -W 'perftest nccl' -- "$cur"))
			return
			;;
		--collective)
			COMPREPLY=($(compgen -W 'all-reduce all-gather reduce-scatter broadcast all-to-all send-recv all' -- "$cur"))
			return
			;;
		--given)
			COMPREPLY=($(compgen -S = -W 'rate nic gpu mtu layer delay switch nvlink version' -- "$cur"))
			return
			;;
		--sizes | --hosts | --nic | --threads)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--test --sizes --collective --hosts --nic --given --host --measured --pairs --leaf --latency --json --threads --quiet --help' -- "$cur"))
		else
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$cur"))
		fi
		;;
	nccl-env)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--nccl --output --help' -- "$cur"))
		else
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$cur"))
		fi
		;;
	explain)
		if [ "$COMP_CWORD" = 2 ]; then
			COMPREPLY=($(compgen -W "--list --help $(ripstop explain --list 2>/dev/null | cut -d' ' -f1)" -- "$cur"))
		else
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -f -- "$cur"))
		fi
		;;
	pcap)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--json --events --strict --quiet --help' -- "$cur"))
		else
			_ripstop_files "$cur" pcap pcapng
		fi
		;;
	exec)
		case $prev in
		exec | --)
			COMPREPLY=($(compgen -W '--dev --no-view --help' -c -- "$cur"))
			;;
		esac
		;;
	switch)
		case $prev in
		--rate | --ecn | --buffer | --limit | --class | --weight | --pfc | --as | --port | --set | --seed | --drop | --corrupt | --duplicate | --reorder | --delay)
			return
			;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--as --port --set --show --seed --rate --ecn --buffer --limit --class --weight --pfc --drop --corrupt --duplicate --reorder --delay --json --help' -- "$cur"))
		else
			_ripstop_files "$cur" yaml yml json
			COMPREPLY+=($(compgen -W "$(ls /sys/class/net 2>/dev/null)" -- "$cur"))
		fi
		;;
	devices)
		COMPREPLY=($(compgen -W '--json --help' -- "$cur"))
		;;
	counters)
		COMPREPLY=($(compgen -W '--watch --json --prometheus --help' -- "$cur"))
		;;
	fabric)
		if [ "$COMP_CWORD" = 2 ]; then
			COMPREPLY=($(compgen -W 'show check convert --help' -- "$cur"))
		elif [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '--set --output --help' -- "$cur"))
		elif [ "$prev" != --set ]; then
			_ripstop_files "$cur" yaml yml json
		fi
		;;
	esac
}

# Folders, and files with one of the endings.
_ripstop_files() {
	local word=$1 ending
	shift
	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen -d -- "$word"))
	for ending; do
		COMPREPLY+=($(compgen -f -X "!*.$ending" -- "$word"))
	done
}

complete -F _ripstop ripstop
