"""What a line for a shell runs, and which commands an anchor means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.memories import commands


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("git push --force", [("git", "push", "--force")]),
        ("cd x && FOO=1 sudo -n git push; ls", [("cd", "x"), ("git", "push"), ("ls",)]),
        ("uv run python -m pytest -q", [("pytest", "-q")]),
        ("bundle exec rspec 'a b' | tee \"c d\"", [("rspec", "a b"), ("tee", "c d")]),
        ("./gradlew test > out.txt 2>&1", [("gradlew", "test", "out.txt", "2"), ("1",)]),
        ("cat > f <<EOF\nrm -rf /\nEOF", [("cat", "f")]),
        ("A=b", []),
        ("'unclosed", [("unclosed",)]),
    ],
)
def test_a_line_is_taken_apart_into_what_it_runs(line, found):
    assert [words for words in map(commands.strip, commands.split(line)) if words] == found


@pytest.mark.parametrize(
    ("wanted", "line", "does"),
    [
        ("git push", "git push origin main", True),
        ("git push", "git -C x push", True),
        ("git push --force", "git push origin", False),
        ("git push --force", "git push origin main --force", True),
        ("make up", "make test", False),
        ("rails db:drop", "bin/rails db:drop db:create", True),
        ("bin/console cache:clear", "bin/console cache:clear --env=prod", True),
        ("git push", "echo git push", False),
        ("gitk", "git push", False),
    ],
)
def test_an_anchor_means_a_command_with_all_of_its_words_in_order(wanted, line, does):
    words, (call,) = commands.strip(wanted.split()), map(commands.strip, commands.split(line))
    assert commands.fits(words, call) is does
    assert not does or commands.key(words) in commands.keys(call)  # else the lookup file would hide it


@given(st.text(max_size=300))
def test_no_line_breaks_it(line):
    for words in filter(None, map(commands.strip, commands.split(line))):
        assert commands.keys(words)
    commands.paths(line)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sed -i 's/a/b/' src/a.py", ["s/a/b/", "src/a.py"]),
        ("sed -n 1p src/a.py", []),
        ("cat src/a.py", []),
        ("echo x > out/b.txt", ["out/b.txt"]),
        ("bash scripts/run.sh --all", ["scripts/run.sh"]),
        ("bin/reindex --all", ["bin/reindex"]),
        ("git rm old.py && git add new.py", ["old.py"]),
    ],
)
def test_the_files_of_a_line_are_those_that_it_changes_or_runs(line, found):
    assert commands.paths(line) == found


ASKS = r"""
git push
git push --force origin main
/usr/bin/git push
g\it push
git -C other push
git -c http.proxy= push
git --no-pager push
cd x && git push
git commit -m x; git push
(git push)
{ git push; }
if ! git push; then echo no; fi
while :; do git push; done
f() { git push; }; f
function f { git push; }
! git push
git \~push
cd x &&~git push
env -i git push
env GIT_SSH=x FOO=1 git push
env -u GIT_DIR git push
GIT_SSH=x git push
sudo git push
sudo -u x git push
sudo -nu x -- git push
doas -u x git push
timeout 5 git push
timeout -k 5 --signal=KILL 10s git push
timeout --kill-after 5 10 git push
/usr/bin/timeout 5 git push
nice git push
nice -n 10 git push
nice -10 git push
ionice -c 3 git push
nohup git push &
setsid git push
stdbuf -oL git push
time git push
time -p git push
command git push
command -p git push
exec git push
builtin command git push
strace -f -o log git push
flock -n lock git push
chroot /srv git push
bash -c 'git push'
sh -c "cd x && git push"
bash -lc 'git push'
/bin/bash -c 'git push' name
sudo -u x bash -c 'timeout 5 git push'
su - x -c 'git push'
bash -c "bash -c 'git push'"
sh -c 'x=$(git push)'
eval git push
eval "git push"
trap 'git push' EXIT
xargs git push
echo origin | xargs -n 1 git push
ls | xargs -I {} sh -c 'git push {}'
find . -name x -exec git push {} \;
find . -execdir sh -c 'git push' \; -print
ssh host git push
ssh -p 22 -i key me@host 'cd x && git push'
ssh host <<EOF~git push~EOF
ssh host bash -s <<'EOF'~git push~EOF
watch git push
watch -n 5 'git push'
parallel git push ::: a b
parallel 'git push {}' ::: a b
bash <<EOF~git push~EOF
sudo bash -e <<-'END'~	git push~	END
cat <<EOF | sh~git push~EOF
bash <<< 'git push'
echo 'git push' | sh
printf 'git push\n' | bash -s
cat > f <<EOF~text~EOF~git push
echo "$(git push)"
echo "done: `git push`"
echo `git push`
x=$(git push)
diff <(git push) f
yes | git push
git push # at last
"""
KEEPS_STILL = r"""
echo 'git push'
echo "git push"
echo git push
printf 'git push\n'
grep "git push" -r .
grep -rn 'git push' docs | head
rg 'git push' && echo found
# git push
ls # then; git push
ls  # $(git push)
git status # git push
git log --grep "git push"
git commit -m "git push later"
git commit -m push
git stash push
git stash push -m x
git checkout push
git log push..main
git branch -d push
git remote set-url --push origin x
git help push
man git push
cat > f <<EOF~git push~EOF
cat >> doc.md <<'EOF'~run `git push` then $(git push)~EOF
tee f <<< 'git push'
sed -i 's/git push/git pull/' f
awk '/git push/ { print }' f
echo 'see $(git push)'
echo "cost: \$(git push)"
python -c 'print("git push")'
find . -name 'git push'
xargs echo git push
xargs grep 'git push'
ssh host echo git push
ssh host
watch git status
bash script.sh git push
bash -c 'echo git push'
echo git push | tee log
echo 'git push' | grep push
alias gp='git push'
which git push
gitk push
npm run git push
"""


@pytest.mark.parametrize("line", ASKS.strip().split("\n"))
def test_a_command_is_found_in_each_spelling_that_runs_it(line):
    calls = [words for words in map(commands.strip, commands.split(line.replace("~", "\n"))) if words]
    assert any(commands.fits(("git", "push"), words) for words in calls)
    assert any("$ git push" in commands.keys(words) for words in calls)  # else the lookup file would hide it


@pytest.mark.parametrize("line", KEEPS_STILL.strip().split("\n"))
def test_a_command_that_is_only_spoken_of_is_not_found(line):
    calls = map(commands.strip, commands.split(line.replace("~", "\n")))
    assert not any(commands.fits(("git", "push"), words) for words in calls if words)


def test_a_long_file_written_by_a_here_document_hides_no_command_behind_it():
    line = "cat > f <<'EOF'\n" + "git push\n" * 2_000 + "EOF\nmake wipe"
    assert [*map(commands.strip, commands.split(line))] == [("cat", "f"), ("make", "wipe")]
