"""coracle completion and man: bash completes by it, the manual has every command and option."""

import re
import subprocess

from programs import own, run


def coracle(*words):
    done = run(own("coracle"), *words)
    assert done.returncode == 0, f"the exit code of {words} ({done.stderr.strip()[-300:]})"
    return done.stdout


def commands():
    listed = coracle("--help").split("Subcommands:")[1]
    return re.findall(r"^  ([a-z]+) ", listed, re.M)


def bash_completes(*words):
    script = coracle("completion", "bash")
    quoted = " ".join(f"'{word}'" for word in ("coracle", *words))
    ask = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _coracle; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=20)
    assert done.stderr == "", "what bash complains of"
    return done.stdout.split()


def test_bash_completes_commands_and_options():
    assert sorted(bash_completes("")) == sorted(commands()), "the commands"
    assert bash_completes("des") == ["describe"], "what des becomes"
    assert {"--plaintext", "--proto", "--data"} <= set(bash_completes("call", "--")), "options of call are missing"
    assert bash_completes("call", "--prot") == ["--proto", "--protoset"], "what --prot becomes"
    assert bash_completes("call", "some") == [], "what a word becomes, which may be a file"


def test_other_shells_get_theirs():
    assert "bashcompinit" in coracle("completion", "zsh"), "it is not for zsh"
    assert "__fish_use_subcommand" in coracle("completion", "fish"), "it is not for fish"


def test_the_manual_has_all_commands_and_options():
    manual = coracle("man").replace("\\-", "-")
    for command in commands():
        assert f".SS coracle {command}\n" in manual, f"{command} is missing"
        for option in re.findall(r"--[a-z][a-z-]+", coracle(command, "--help")):
            assert option in manual or option == "--help", f"{command} {option} is missing"
    assert manual.startswith(".TH CORACLE 1"), "it does not begin as a manual page"


def test_help_and_version_are_commands():
    assert coracle("help") == coracle("--help"), "what help prints"
    for words in (["call"], ["help"], ["completion", "bash"]):
        assert coracle("help", *words) == coracle(*words, "--help"), f"what help prints on {words}"
    assert coracle("version") == coracle("--version"), "what version prints"


def test_an_unknown_word_is_an_error_that_suggests_the_closest_ones():
    for words, says in ((("foo",), "there is no command 'foo'; 'coracle help' lists"),
                        (("cal",), "did you mean 'call'? 'coracle help' lists"),
                        (("list",), "did you mean 'ls'?"),
                        (("desc", "localhost:1"), "did you mean 'describe'?"),
                        (("help", "laod"), "did you mean 'load'?"),
                        (("completion", "bsh"), "completion has no command 'bsh'; did you mean 'bash' or 'zsh'? 'coracle help completion' lists"),
                        (("call", "--plaintex", "a:1", "B/C"), "call has no option --plaintex; did you mean '--plaintext'? 'coracle help call' lists"),
                        (("load", "--druation=1s", "a:1", "B/C"), "load has no option --druation; did you mean '--duration'?"),
                        (("call", "-x", "a:1", "B/C"), "call has no option -x; 'coracle help call' lists"),
                        (("--vesrion",), "there is no option --vesrion; did you mean '--version'?"),
                        (("\x1b[2J",), "there is no command '?[2J'")):
        done = run(own("coracle"), *words)
        assert done.returncode == 64, f"the exit code of {words}"
        assert done.stdout == "", f"what {words} print"
        assert says in done.stderr and done.stderr.count("\n") == 1, f"{words} say {done.stderr!r}"


def test_it_is_one_file():
    """What it is linked to beside the C library came from archives; tools/archives.cmake says when it does not."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", own("coracle")).stdout)
    assert [name for name in needed if not re.match(r"(libc|libm|ld-linux.*)\.so", name)] == [], \
        "what it needs beside the C library"
    assert needed, "it needs nothing at all"
