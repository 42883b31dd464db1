# Completion of krait for fish: krait itself says what may come (user/cmd/common/complete.h).

function __krait_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    for line in (command krait --complete $words[2..-1] "$token" 2>/dev/null </dev/null)
        set -l parts (string split -m 1 \t -- $line)
        set -l rest (string sub -s (math (string length -- "$parts[2]") + 1) -- "$token")
        switch $parts[1]
            case ':file'
                for path in (__fish_complete_path "$rest")
                    echo $parts[2]$path
                end
            case ':directory'
                for path in (__fish_complete_directories "$rest")
                    echo $parts[2]$path
                end
            case ':user'
                for user in (__fish_complete_users)
                    echo $parts[2]$user
                end
            case ':command'
                # From there on it is another command's line.
                complete -C (string join ' ' -- (string escape -- $words[(math $parts[2] + 2)..-1]) "$token")
            case '*'
                echo $line
        end
    end
end

complete -c krait -f -a '(__krait_complete)'
