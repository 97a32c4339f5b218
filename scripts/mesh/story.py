"""What the demonstration does, step by step, and what it promises."""

import contextlib
import pathlib
import subprocess
import tempfile
import time

import page
from demo import as_link
from members import CLIENT, HOST, TARGET, Backend, Caller, bootstrap, call_once, failed
from network import PLANE, Loopback, Namespaces
from plane import STRICT, MeshPlane, by_weight, for_user
from programs import BIN

LIMIT_S = 15  # for what has to come about
GUESTS, FRIENDS = 8, 2  # calls at the same time


class Promise:
    def __init__(self, text, is_kept, detail):
        self.text, self.is_kept, self.detail = text, is_kept, detail


class Story:
    """The members of the mesh, and what was promised in each step."""

    def __init__(self, options, network, folder):
        self.options, self.network, self.folder = options, network, folder
        self.began = time.monotonic()
        self.steps = []  # (seconds after the beginning, title, promises)
        self.allowed_failures = 0
        self.exit_codes = []
        self.running = contextlib.ExitStack()

    def step(self, title):
        print(f"\n{len(self.steps) + 1}. {title}", flush=True)
        self.steps.append((time.monotonic() - self.began, title, []))

    def promise(self, text, is_kept, detail=""):
        self.steps[-1][2].append(Promise(text, bool(is_kept), str(detail)))
        print(f"   {'kept' if is_kept else 'BROKEN'}: {text}{f' ({detail})' if detail else ''}", flush=True)

    @property
    def promises(self):
        return [one for _, _, promises in self.steps for one in promises]

    def seconds(self, of_the_whole):
        return of_the_whole / 3 if self.options.short else of_the_whole

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running.close()


def share(answers, part):
    """What part of the answers contains the text."""
    return sum(times for answer, times in answers.items() if part in answer) / max(answers.total(), 1)


def shown(answers):
    return ", ".join(f"{answer} {times}" for answer, times in sorted(answers.items())) or "no call"


def begin(story):
    network, folder = story.network, story.folder
    story.step(f"A control plane, clients and three servers start, {network.text}")
    done = subprocess.run([BIN / "coracle", "certs", HOST, "--client", CLIENT, "--out", folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"coracle certs: {done.stderr}")
    network.add("clients", 2)
    story.backends = [story.running.enter_context(Backend(network, folder, number)) for number in (1, 2, 3)]
    for one, version in zip(story.backends, ("v1", "v1", "v2")):
        one.version = version
    story.plane = story.running.enter_context(MeshPlane(network.address(PLANE), story.backends))
    story.plane.configure(by_weight({"v1": 100}))
    for one in story.backends:
        one.start(one.version, story.plane)
    story.promise("Servers serve when the control plane has configured them", True, ", ".join(f"{one.name} {one.version} at {one.address}" for one in story.backends))
    guests = story.running.enter_context(Caller(network, story.plane, folder, "guests", GUESTS, metrics=network.pages_of(2)))
    friends = story.running.enter_context(Caller(network, story.plane, folder, "friends", FRIENDS, "--user=beta"))
    story.guests, story.friends, story.callers = guests, friends, (guests, friends)
    story.plane.clients = [guests.name, friends.name]
    guests.wait_for(lambda answers: answers, LIMIT_S)
    answers = guests.watch(story.seconds(2))
    story.promise("Calls reach both servers of v1, and no other", share(answers, "/v1") == 1 and len(answers) == 2, shown(answers))


def secure(story):
    story.step("The control plane requires certificates of both sides (mTLS)")
    env = bootstrap(story.plane, "once", story.folder, "client")
    done = call_once(story.network, env, TARGET)
    story.promise("A client with a certificate is answered, and the server knows its name", done.returncode == 0 and f"'{CLIENT}'" in done.stdout,
                  done.stdout.strip() or done.stderr.strip())
    done = call_once(story.network, env, story.backends[0].address)
    story.promise("A client in plaintext is not answered", done.returncode != 0 and "UNAVAILABLE" in done.stderr)
    done = call_once(story.network, env, f"xds:///{STRICT}")
    story.promise("A server whose certificate has another name gets no call", done.returncode != 0 and "UNAVAILABLE" in done.stderr)


def canary(story):
    story.step("A canary by header: calls of the user beta go to v2")
    story.plane.configure(for_user("beta", "v2"), by_weight({"v1": 100}))
    story.friends.wait_for(lambda answers: share(answers, "/v2") == 1, LIMIT_S)
    guests, friends = story.guests.watch(story.seconds(2)), story.friends.watch(story.seconds(1))
    story.promise("All calls of beta are answered by v2", share(friends, "/v2") == 1, shown(friends))
    story.promise("All others by v1", share(guests, "/v1") == 1, shown(guests))
    story.step("A canary by weight: every tenth call of the others goes to v2, too")
    story.plane.configure(for_user("beta", "v2"), by_weight({"v1": 90, "v2": 10}))
    story.guests.wait_for(lambda answers: share(answers, "/v2"), LIMIT_S)
    guests = story.guests.watch(story.seconds(4))
    story.promise("Between 6 % and 14 % do", guests.total() > 400 and 0.06 < share(guests, "/v2") < 0.14, f"{share(guests, '/v2'):.1%} of {guests.total()} calls")


def outlier(story):
    bad = story.backends[1]
    story.step(f"An outlier: {bad.name} fails each call, and recovers")
    before = sum(failed(one.answers()) for one in story.callers)
    since = time.monotonic()
    bad.fault.touch()
    story.guests.wait_for(failed, LIMIT_S)
    ejected = story.guests.wait_for(lambda answers: not failed(answers) and not share(answers, bad.name), LIMIT_S)
    took = time.monotonic() - since
    bad.fault.unlink()
    returned = story.guests.wait_for(lambda answers: share(answers, bad.name) > 0.2, LIMIT_S)
    story.allowed_failures = sum(failed(one.answers()) for one in story.callers) - before
    story.promise("The clients eject it, and its calls go to the others", ejected, f"{took:.1f} s after the fault began; {story.allowed_failures} calls failed before")
    story.promise("They use it again when it is well", returned, shown(story.guests.watch(0.4)))


def restart(story, one, announced):
    """Into v2. Returns the exit code."""
    if announced:
        one.healthy = False
        story.plane.configure(*story.plane.routes_to_healthy())
        story.guests.wait_for(lambda answers: not share(answers, one.name), LIMIT_S)
    code = one.stop()
    one.start("v2", story.plane)
    one.healthy = True
    story.plane.configure(*story.plane.routes_to_healthy())
    return code


def roll(story):
    rounds = [True] if story.options.short else [True, False]
    for announced in rounds:
        story.step("A rolling restart of all servers into v2, under calls; the control plane takes each out of service before" if announced else
                   "Another one, of which the control plane does not know")
        marks = {one: len(one.samples) for one in story.callers}
        codes, back = [], True
        for one in story.backends:
            codes.append(restart(story, one, announced))
            back &= story.guests.wait_for(lambda answers, one=one: share(answers, f"{one.name}/v2"), LIMIT_S)
        answers = {one: one.answers(mark) for one, mark in marks.items()}
        total, lost = sum(of.total() for of in answers.values()), sum(map(failed, answers.values()))
        story.promise("No call has failed", lost == 0 and total > 0, f"{lost} of {total}")
        story.promise("Each server has drained and ended by itself, and its calls came back", codes == [0, 0, 0] and back, f"exit codes {codes}")
    story.promise("All calls are answered by v2", share(story.guests.watch(story.seconds(1)), "/v2") == 1)


def plane_fails(story):
    story.step("The control plane goes away, returns, and sends a route that is invalid")
    plane = story.plane
    marks = {one: len(one.samples) for one in story.callers}
    plane.stop()
    story.guests.watch(story.seconds(2))
    plane.start()
    reasons = plane.reject_me()
    story.promise("The clients reject it, and say why", len(reasons) > 0, reasons[0])
    plane.configure()
    lost = sum(failed(one.answers(mark)) for one, mark in marks.items())
    story.promise("No call has failed meanwhile", lost == 0, f"{lost} of {sum(one.answers(mark).total() for one, mark in marks.items())}")


def end(story):
    story.step("All of it ends")
    story.pages = {one.name: one.page("connections") for one in story.backends}
    story.measured = {name: story.guests.measured(name) for name in page.METRICS}
    ejections = sum(value for _, value in story.measured["grpc_lb_outlier_detection_ejections_enforced_total"])
    updates = sum(value for _, value in story.measured["grpc_xds_client_resource_updates_valid_total"])
    story.promise("The metrics of a client tell of the ejection and of the updates", ejections > 0 and updates > 0, f"{ejections:.0f} and {updates:.0f}")
    codes = [one.end() for one in story.callers]
    codes += [one.stop() for one in story.backends]
    story.promise("Every program ends with the exit code 0", not any(codes), codes)
    total = sum(one.answers().total() for one in story.callers)
    lost = sum(failed(one.answers()) for one in story.callers) - story.allowed_failures
    story.promise("No call has failed but those of the outlier", lost == 0, f"{lost} of {total}")


CHAPTERS = (begin, secure, canary, outlier, roll, plane_fails, end)


def tell(options, chapters=CHAPTERS):
    """The exit code: 1 if a promise is broken."""
    network = Loopback() if options.loopback else Namespaces()
    with tempfile.TemporaryDirectory() as folder, Story(options, network, pathlib.Path(folder)) as story:
        for chapter in chapters:
            chapter(story)
        page.write(story, options.page)
    kept = sum(one.is_kept for one in story.promises)
    print(f"\n{kept} of {len(story.promises)} promises are kept, in {time.monotonic() - story.began:.0f} s.\n"
          f"The page with the summary: {as_link(str(options.page), options.page.absolute().as_uri())}", flush=True)
    return 0 if kept == len(story.promises) else 1
