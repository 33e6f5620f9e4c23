"""The server: loopback only, its own files only, and standing after whatever it is sent."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")

from engine.version import full_name
from search.explorer import service
from search.explorer.chess_document import load
from search.explorer.server import MAX_BODY, page_files
from search.theory.algorithms import run
from search.theory.run_text import run_as_text
from search.theory.tree_text import read_tree
from tests.explorer.page.asking import TREE, ask, stands
from tests.explorer.page.conftest import PROJECT, Explorer, start_explorer, stop_explorer


def raw(explorer, data, timeout=10.0):
    """What the server answers to these bytes, as far as it does."""
    with socket.create_connection(("127.0.0.1", explorer.port), timeout=timeout) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        except (ConnectionError, TimeoutError):
            return b""
        return answer


def test_the_page_and_all_its_files_are_served(explorer):
    for path, entry in page_files().items():
        status, headers, content = ask(explorer, "GET", path)
        assert status == 200, path
        assert content == entry.read_bytes()
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
    assert ask(explorer, "GET", "/main.js")[1]["content-type"].startswith("text/javascript")
    assert ask(explorer, "GET", "/")[1]["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/vendor/../../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "/vendor/..%5c..%5cserver.py",
        "//etc/passwd",
        "/etc/passwd",
        "/vendor",
        "/vendor/",
        "/server.py",
        "/index.html/",
        "/INDEX.HTML",
        "/index.html%00.js",
        "/api",
        "/api/",
        "/api/none",
    ],
)
def test_no_other_file_is_served(explorer, path):
    status, _, content = ask(explorer, "GET", path)
    assert status in (400, 404, 405)
    assert b"root:" not in content
    assert b"import" not in content


@pytest.mark.parametrize(
    "host",
    ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "", "[::1]", "0.0.0.0:{port}"],
)
def test_other_hosts_are_refused(explorer, host):
    status, _, content = ask(explorer, "GET", "/", Host=host.format(port=explorer.port))
    assert status in (400, 421)
    assert b"<html" not in content


def test_a_missing_or_a_second_host_is_refused(explorer):
    for hosts in ("", f"Host: 127.0.0.1:{explorer.port}\r\nHost: example.org\r\n"):
        answer = raw(explorer, f"GET / HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"421")
        assert b"<html" not in answer
    assert raw(explorer, b"GET / HTTP/1.0\r\n\r\n").split()[1] in (b"400", b"421")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_loopback_by_any_name_is_answered(explorer, name):
    assert ask(explorer, "GET", "/", Host=f"{name}:{explorer.port}")[0] == 200


def test_requests_of_other_pages_are_refused(explorer):
    own = f"http://127.0.0.1:{explorer.port}"
    assert ask(explorer, "POST", "/api/trace", TREE, Origin=own)[0] == 200
    for origin in ("http://example.org", "null", f"http://example.org:{explorer.port}", "http://127.0.0.1:1"):
        assert ask(explorer, "POST", "/api/trace", TREE, Origin=origin)[0] == 403
    assert ask(explorer, "POST", "/api/trace", TREE, Content_Type="text/plain")[0] == 400
    assert ask(explorer, "POST", "/api/trace", TREE, Content_Type="application/x-www-form-urlencoded")[0] == 400


def test_it_listens_on_loopback_alone(explorer):
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        with (
            pytest.raises((ConnectionError, TimeoutError)),
            socket.create_connection((address, explorer.port), timeout=2),
        ):
            pass


def test_other_methods_are_refused(explorer):
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "FOO"):
        assert ask(explorer, method, "/")[0] == 405
    assert ask(explorer, "GET", "/api/trace")[0] in (404, 405)
    assert ask(explorer, "POST", "/")[0] == 405


def test_errors_are_one_line_with_their_place(explorer):
    status, _, content = ask(explorer, "POST", "/api/trace", TREE | {"text": "[1\n 2]]"})
    error = json.loads(content)
    assert status == 400
    assert (error["line"], error["column"]) == (2, 4)
    assert "\n" not in error["error"]


def test_a_body_that_is_too_large_is_refused(explorer):
    status, _, content = ask(explorer, "POST", "/api/trace", b" " * (MAX_BODY + 1))
    assert status == 400
    assert "at most" in json.loads(content)["error"]
    assert stands(explorer)


def test_an_endless_body_is_refused(explorer):
    head = (
        f"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1:{explorer.port}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = raw(explorer, head + chunk * (MAX_BODY // 0x10000 + 2), timeout=30)
    assert b" 400 " in answer.splitlines()[0] if answer else True
    assert stands(explorer)


def test_a_tree_of_a_megabyte_is_answered(explorer):
    text = "[" + "[1 2]\n" * 66_000 + "]"
    status, _, content = ask(explorer, "POST", "/api/trace", TREE | {"text": text})
    assert status == 200
    assert json.loads(content)["statistics"]["nodes"] == 198_001


def malformed(generator, port):
    """One of many kinds of bytes that are no proper request."""
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    noise = generator.randbytes(generator.randrange(1, 300))
    post = b"POST /api/trace HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    body = json.dumps(TREE).encode()
    stop, cost = (post.replace(b"trace", name) for name in (b"stop", b"cost"))
    wrong = json.dumps({"fen": noise.hex(), "moves": [noise.hex()], "depth": 3, "job": noise.hex()}).encode()
    kinds = (
        lambda: noise,
        lambda: b"GET " + noise + b" HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET / HTTP/" + noise + b"\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + noise + b"\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\nHost: " + noise + b"\r\n\r\n",
        lambda: post + b"Content-Length: " + noise + b"\r\n\r\n" + body,
        lambda: post + b"Content-Length: -1\r\n\r\n" + body,
        lambda: post + b"Content-Length: 99999\r\n\r\n" + body,
        lambda: post + b"Transfer-Encoding: chunked\r\n\r\n" + noise,
        lambda: post + f"Content-Length: {len(noise)}\r\n\r\n".encode() + noise,
        lambda: post + b"Content-Length: 20000\r\n\r\n" + b"[" * 20000,
        lambda: post + f"Content-Length: {len(body) - 3}\r\n\r\n".encode() + body[:-3],
        lambda: b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * 5000 + b"\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        lambda: b"GET /api/progress?job=" + noise + b" HTTP/1.1\r\n" + host + b"\r\n",
        lambda: post.replace(b"trace", b"trace?job=" + noise.hex().encode()) + b"Content-Length: 2\r\n\r\n{}",
        lambda: stop + f"Content-Length: {len(noise)}\r\n\r\n".encode() + noise,
        lambda: stop + f"Content-Length: {len(wrong)}\r\n\r\n".encode() + wrong,
        lambda: cost + f"Content-Length: {len(wrong)}\r\n\r\n".encode() + wrong,
        lambda: b"",
    )
    return generator.choice(kinds)()


def test_it_survives_a_thousand_malformed_requests(explorer):
    generator = random.Random(2001)
    for _ in range(1000):
        answer = raw(explorer, malformed(generator, explorer.port))
        assert b"Traceback" not in answer
        assert b" 500 " not in answer[:20]
    assert stands(explorer)
    assert explorer.process.poll() is None


def test_connections_that_say_nothing_do_not_block_it(explorer):
    idle = [socket.create_connection(("127.0.0.1", explorer.port)) for _ in range(50)]
    try:
        assert stands(explorer)
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000\r\n\r\n{{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_hundreds_of_half_open_connections_do_not_block_it(sent):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 600:
        pytest.skip("this process may not open enough files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        running = start_explorer()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    connections = []
    try:
        for _ in range(300):
            connection = socket.create_connection(("127.0.0.1", running.port), timeout=60)
            connections.append(connection)
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent.replace(b"{port}", str(running.port).encode()).replace(b"{{", b"{"))
        assert stands(running)
        assert ask(running, "GET", "/")[0] == 200
    finally:
        for connection in connections:
            connection.close()
        stop_explorer(running)


def test_a_connection_that_sends_no_whole_request_is_broken_off():
    running = start_explorer_that_waits(1.0)
    try:
        for head in (b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n"):
            with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
                connection.sendall(head)
                with contextlib.suppress(ConnectionError):
                    while connection.recv(65536):
                        pass
        assert stands(running)
    finally:
        stop_explorer(running)


def start_explorer_that_waits(seconds):
    """An explorer of less patience with clients."""
    code = (
        "import sys; from search.explorer import command, server; "
        f"server.REQUEST_SECONDS = {seconds}; sys.exit(command.main(['--no-browser']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT
    )
    return Explorer(process, process.stdout.readline().strip())


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": {"hand": {"0": [2.0, 1]}}}',
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": {"hand": {"0": [2, true]}}}',
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": {"hand": {"0": NaN}}}',
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": {"seed": 1e999}}',
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": {"seed": ' + b"9" * 5000 + b"}}",
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "title": "\\ud800"}',
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "title": "\xff"}',
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    ],
    ids=range(9),
)
def test_malformed_values_are_refused_in_one_line(explorer, body):
    status, _, content = ask(explorer, "POST", "/api/trace", body)
    assert status == 400
    assert json.loads(content)["error"].isprintable()


def test_the_first_line_is_the_url_and_interrupting_ends_it():
    running = start_explorer()
    assert running.url.startswith("http://127.0.0.1:")
    assert stands(running)
    running.process.send_signal(signal.SIGINT)
    out, errors = running.process.communicate(timeout=20)
    assert (running.process.returncode, out, errors) == (0, "", "")


def test_a_port_can_be_chosen_and_a_taken_one_is_one_clear_line(explorer):
    done = run_explore("--port", str(explorer.port))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert str(explorer.port) in done.stderr
    assert run_explore("--port", "70000").returncode == 2


def run_explore(*arguments):
    return subprocess.run(
        [sys.executable, str(PROJECT / "uci_main.py"), "explore", "--no-browser", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_file_is_what_the_page_shows_first(tmp_path: Path):
    tree = tmp_path / "tree.txt"
    tree.write_text("MIN d=1\n  3\n  4\n")
    running = start_explorer(str(tree))
    _, _, content = ask(running, "GET", "/api/document")
    stop_explorer(running)
    assert json.loads(content) == {"document": None, "tree": {"text": tree.read_text(), "title": "tree.txt"}}


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("absent.json", None, "No such file"),
        ("bad.txt", b"[1 2", "line 1, column 5"),
        ("bad.json", b'{"format": "secateur trace", "version": 1', "damaged"),
        ("new.json", b'{"format": "secateur trace", "version": 2, "kind": "tree"}', "version 2"),
        ("bytes.txt", b"\xff\xfe\x00", "UTF-8"),
        ("bad.gz", b"\x1f\x8b\x08\x00", "cut off"),
        ("empty.txt", b"", "no tree"),
    ],
)
def test_files_that_are_none_are_one_clear_line(tmp_path: Path, name, content, complaint):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    done = run_explore(str(path))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr
    assert name in done.stderr


def test_a_tree_and_a_trace_are_printed_as_text(tmp_path: Path):
    tree = tmp_path / "tree.txt"
    tree.write_text("[[5 6] [4 9]]")
    expected = run_as_text(run(read_tree("[[5 6] [4 9]]"), "alpha-beta"))
    assert run_explore(str(tree), "--text").stdout == expected
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(service.trace(TREE | {"algorithm": "minimax"})))
    assert run_explore(str(trace), "--text").stdout == run_as_text(run(read_tree(TREE["text"]), "minimax"))


def test_a_search_is_recorded_printed_and_opened(tmp_path: Path):
    file = tmp_path / "mate.json.gz"
    mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
    done = run_explore("--record", str(file), "--position", mate, "--depth", "3", "--costs")
    assert done.returncode == 0, done.stderr
    assert "#1" in done.stdout
    document = load(file)
    assert document["position"].split()[0] == mate.split()[0]
    assert document["engine"] == full_name()
    assert document["costs"]["depth"] == 3
    printed = run_explore(str(file), "--text")
    assert printed.returncode == 0
    assert "d1d8" in printed.stdout
    assert printed.stdout.startswith(f"{full_name()}, ")
    assert f"which takes {document['costs']['nodes']:,} as it is" in printed.stdout
    running = start_explorer(str(file))
    _, _, content = ask(running, "GET", "/api/document")
    stop_explorer(running)
    assert json.loads(content)["document"]["kind"] == "chess"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--record", "x.json", "--position", "no FEN"], "neither a FEN nor a PGN"),
        (["--record", "/no such folder/x.json", "--depth", "1"], "no such folder/x.json: there is no such folder"),
        (["--record", "/"], "/: is a folder"),
        (["--record", "x.json", "--pgn", "absent.pgn"], "absent.pgn: No such file"),
    ],
)
def test_recordings_that_cannot_be_made_are_one_clear_line(arguments, complaint):
    done = run_explore(*arguments)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--depth", "0"], "--depth is at least 1, not 0"),
        (["--nodes", "-5"], "--nodes is at least 1, not -5"),
        (["--position", "startpos", "--pgn", "x.pgn"], "--position and --pgn both say what to search"),
    ],
)
def test_limits_and_positions_that_make_no_sense_are_wrong_usage(arguments, complaint):
    done = run_explore("--record", "x.json", *arguments)
    assert (done.returncode, done.stderr) == (2, f"secateur explore: {complaint}\n")


def test_options_that_do_not_go_together_are_wrong_usage():
    assert run_explore("--text").returncode == 2
    assert run_explore("file.json", "--record", "x.json").returncode == 2
    for option in (["--costs"], ["--depth", "0"], ["--position", "startpos"]):
        done = run_explore("file.json", *option)
        assert done.returncode == 2
        assert "it goes with --record" in done.stderr
