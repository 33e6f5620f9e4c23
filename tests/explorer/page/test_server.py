"""The command and its server: it answers only loopback, serves only its own files, and survives every request."""

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
from search.explorer import command, service
from search.explorer.chess_document import read_text
from search.explorer.command import FileError, read_file
from search.explorer.server import MAX_BODY, page_files
from search.theory.algorithms import run
from search.theory.run_text import run_as_text
from search.theory.tree_text import read_tree
from tests.explorer.page.asking import TREE, answer, ask, stands
from tests.explorer.page.conftest import PROJECT, Explorer, explorer_running, start_explorer


def raw(explorer: Explorer, data: bytes, timeout: float = 60.0) -> bytes:
    """What the server answers to these bytes, as far as it does."""
    with socket.create_connection(("127.0.0.1", explorer.port), timeout=timeout) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while chunk := connection.recv(65536):
                found += chunk
        except ConnectionError:
            return b""
        return found


# --- whom it answers -----------------------------------------------------------------------------------------------


def test_the_page_and_all_its_files_are_served(explorer: Explorer) -> None:
    for path, entry in page_files().items():
        status, headers, content = ask(explorer, "GET", path)
        assert status == 200, path
        assert content == entry.read_bytes()
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
    assert ask(explorer, "GET", "/main.js")[1]["content-type"] == "text/javascript; charset=utf-8"
    assert ask(explorer, "GET", "/")[1]["content-type"] == "text/html; charset=utf-8"


def test_no_other_file_is_served(explorer: Explorer) -> None:
    paths = "/../server.py /vendor/../../server.py /%2e%2e/server.py /..%2fserver.py /vendor/..%5c..%5cserver.py"
    paths += " //etc/passwd /etc/passwd /vendor /vendor/ /server.py /index.html/ /INDEX.HTML /index.html%00.js"
    for path in [*paths.split(), "/api", "/api/", "/api/none"]:
        status, _, content = ask(explorer, "GET", path)
        assert status in (400, 404, 405), path
        assert b"root:" not in content
        assert b"import" not in content


def test_only_loopback_by_name_is_answered(explorer: Explorer) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert ask(explorer, "GET", "/", Host=f"{name}:{explorer.port}")[0] == 200
    others = ["example.org", f"example.org:{explorer.port}", "127.0.0.1", "127.0.0.1:1", "localhost", "", "[::1]"]
    for host in (*others, f"0.0.0.0:{explorer.port}"):
        status, _, content = ask(explorer, "GET", "/", Host=host)
        assert status in (400, 421), host
        assert b"<html" not in content
    for head in ("", f"Host: 127.0.0.1:{explorer.port}\r\nHost: example.org\r\n"):
        found = raw(explorer, f"GET / HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
        assert found.split()[1] in (b"400", b"421")
        assert b"<html" not in found


def test_requests_of_other_pages_are_refused(explorer: Explorer) -> None:
    own = f"http://127.0.0.1:{explorer.port}"
    assert ask(explorer, "POST", "/api/trace", TREE, Origin=own)[0] == 200
    for origin in ("http://example.org", "null", f"http://example.org:{explorer.port}", "http://127.0.0.1:1"):
        assert ask(explorer, "POST", "/api/trace", TREE, Origin=origin)[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert ask(explorer, "POST", "/api/trace", TREE, Content_Type=kind)[0] == 400
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "FOO"):
        assert ask(explorer, method, "/")[0] == 405
    assert ask(explorer, "GET", "/api/trace")[0] in (404, 405)
    assert ask(explorer, "POST", "/")[0] == 405


def test_it_listens_on_loopback_alone(explorer: Explorer) -> None:
    addresses = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses:
        if address.startswith("127."):
            continue
        with pytest.raises((ConnectionError, TimeoutError)):
            socket.create_connection((address, explorer.port), timeout=2).close()


# --- what it is sent -----------------------------------------------------------------------------------------------


def test_large_bodies_are_answered_and_too_large_ones_refused(explorer: Explorer) -> None:
    text = "[" + "[1 2]\n" * 20_000 + "]"
    assert answer(explorer, "/api/trace", TREE | {"text": text})["statistics"]["nodes"] == 60_001
    assert "longer than" in answer(explorer, "/api/trace", b" " * (MAX_BODY + 1))["error"]
    head = (
        f"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1:{explorer.port}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    endless = raw(explorer, head + (b"10000\r\n" + b" " * 0x10000 + b"\r\n") * (MAX_BODY // 0x10000 + 2))
    assert b" 400 " in endless.splitlines()[0] if endless else True
    assert stands(explorer)


def malformed(generator: random.Random, port: int) -> list[bytes]:
    """Many kinds of bytes that are no proper request."""
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    noise = generator.randbytes(generator.randrange(1, 300))
    post = b"POST /api/trace HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    body = json.dumps(TREE).encode()
    wrong = json.dumps({"fen": noise.hex(), "moves": [noise.hex()], "depth": 3, "job": noise.hex()}).encode()
    sized = [post + f"Content-Length: {len(content)}\r\n\r\n".encode() + content for content in (noise, wrong)]
    return [
        *(request.replace(b"trace", name, 1) for request in sized for name in (b"trace", b"stop", b"cost")),
        noise,
        b"GET " + noise + b" HTTP/1.1\r\n" + host + b"\r\n",
        b"GET / HTTP/" + noise + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + noise + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + noise + b"\r\n\r\n",
        post + b"Content-Length: " + noise + b"\r\n\r\n" + body,
        post + b"Content-Length: -1\r\n\r\n" + body,
        post + b"Content-Length: 99999\r\n\r\n" + body,
        post + b"Transfer-Encoding: chunked\r\n\r\n" + noise,
        post + b"Content-Length: 20000\r\n\r\n" + b"[" * 20000,
        post + f"Content-Length: {len(body) - 3}\r\n\r\n".encode() + body[:-3],
        b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * 5000 + b"\r\n",
        b"GET / HTTP/1.1\r\n" + host + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"GET /api/progress?job=" + noise + b" HTTP/1.1\r\n" + host + b"\r\n",
        post.replace(b"trace", b"trace?job=" + noise.hex().encode()) + b"Content-Length: 2\r\n\r\n{}",
        b"",
    ]


def test_it_survives_malformed_requests_and_connections_that_say_nothing(explorer: Explorer) -> None:
    generator = random.Random(2001)
    for _ in range(15):
        for request in malformed(generator, explorer.port):
            found = raw(explorer, request)
            assert b"Traceback" not in found
            assert b" 500 " not in found[:20]
    idle = [socket.create_connection(("127.0.0.1", explorer.port)) for _ in range(50)]
    try:
        assert stands(explorer)
    finally:
        for connection in idle:
            connection.close()
    assert explorer.process.poll() is None


HALF_OPEN = (
    b"",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
)


def test_hundreds_of_half_open_connections_do_not_block_it() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 600:
        pytest.skip("this process may not open enough files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        running = start_explorer()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with contextlib.ExitStack() as connections:
        connections.callback(running.process.communicate, timeout=60)
        connections.callback(running.process.terminate)
        for number in range(300):
            sent = HALF_OPEN[number % len(HALF_OPEN)]
            connection = socket.create_connection(("127.0.0.1", running.port), timeout=60)
            connections.enter_context(connection)
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent % running.port if b"%d" in sent else sent)
        assert stands(running)


VALUES = (
    b'{"hand": {"0": [2.0, 1]}}',
    b'{"hand": {"0": NaN}}',
    b'{"seed": 1e999}',
    b'{"seed": ' + b"9" * 5000 + b"}",
    b'"\\ud800"',
    b'"\xff"',
    b"[" * 900 + b"]" * 900,
    b"[" * 200_000 + b"]" * 200_000,
)


def test_malformed_values_are_refused_in_one_line_with_their_place(explorer: Explorer) -> None:
    for value in VALUES:
        status, _, content = ask(
            explorer, "POST", "/api/trace", b'{"text": "[1 2]", "algorithm": "alpha-beta", "order": ' + value + b"}"
        )
        assert status == 400
        assert json.loads(content)["error"].isprintable()
    error = answer(explorer, "/api/trace", TREE | {"text": "[1\n 2]]"})
    assert (error["line"], error["column"]) == (2, 4)


# --- the command ---------------------------------------------------------------------------------------------------


def run_explore(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROJECT / "uci_main.py"), "explore", "--no-browser", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_first_line_is_the_url_and_interrupting_ends_it() -> None:
    running = start_explorer()
    assert running.url.startswith("http://127.0.0.1:")
    assert stands(running)
    running.process.send_signal(signal.SIGINT)
    out, errors = running.process.communicate(timeout=60)
    assert (running.process.returncode, out, errors) == (0, "", "")


def test_a_file_is_what_the_page_shows_first_or_printed_as_text(tmp_path: Path) -> None:
    tree = tmp_path / "tree.txt"
    tree.write_text("MIN d=1\n  3\n  4\n")
    with explorer_running(str(tree)) as running:
        found = answer(running, "/api/document")
    assert found == {"document": None, "tree": {"text": tree.read_text(), "title": "tree.txt"}}
    assert run_explore(str(tree), "--text").stdout == run_as_text(run(read_tree(tree.read_text()), "alpha-beta"))
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(service.trace(TREE | {"algorithm": "minimax"})))
    assert run_explore(str(trace), "--text").stdout == run_as_text(run(read_tree(TREE["text"]), "minimax"))


def test_a_search_is_recorded_printed_and_opened(tmp_path: Path) -> None:
    file = tmp_path / "mate\nin one.json.gz"
    mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
    done = run_explore("--record", str(file), "--position", mate, "--depth", "3", "--costs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(rf"{tmp_path}/mate\nin one.json.gz: depth 3, #1, ")
    document = json.loads(read_text(file))
    assert document["position"].split()[0] == mate.split()[0]
    assert document["engine"] == full_name()
    assert document["costs"]["depth"] == 3
    printed = run_explore(str(file), "--text")
    assert printed.returncode == 0
    assert "d1d8" in printed.stdout
    assert printed.stdout.startswith(f"{full_name()}, ")
    assert f"the unchanged search takes {document['costs']['nodes']:,}" in printed.stdout
    (tmp_path / "damaged.json").write_text(json.dumps(document | {"statistics": {}}))
    printed = run_explore(str(tmp_path / "damaged.json"), "--text")
    assert (printed.returncode, printed.stdout, printed.stderr.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("absent.json", None, "No such file"),
        ("bad.txt", b"[1 2", "line 1, column 5"),
        ("bad.json", b'{"format": "secateur trace", "version": 1', "damaged"),
        ("new.json", b'{"format": "secateur trace", "version": 2, "kind": "tree"}', "version 2"),
        ("bytes.txt", b"\xff\xfe\x00", "UTF-8"),
        ("bad.gz", b"\x1f\x8b\x08\x00", "truncated"),
        ("empty.txt", b"", "no tree"),
    ],
)
def test_files_that_are_none_are_one_clear_line(
    tmp_path: Path, name: str, content: bytes | None, complaint: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError) as refused:
        read_file(path)
    assert complaint in str(refused.value)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["no such file.json"], 1, "no such file.json: No such file"),
        (["--record", "x.json", "--position", "no FEN"], 1, "neither a FEN nor a PGN"),
        (["--record", "/no such folder/x.json", "--depth", "1"], 1, "no such folder/x.json: its folder does not exist"),
        (["--record", "/"], 1, "/: is a folder"),
        (["--record", "x.json", "--pgn", "absent.pgn"], 1, "absent.pgn: No such file"),
        (["--record", "x.json", "--depth", "0"], 2, "--depth must be at least 1 (got 0)"),
        (["--record", "x.json", "--nodes", "-5"], 2, "--nodes must be at least 1 (got -5)"),
        (["--record", "x.json", "--position", "startpos", "--pgn", "x"], 2, "--position cannot be combined with --pgn"),
        (["--port", "70000"], 2, "--port must be 0 to 65535 (got 70000)"),
        (["--text"], 2, "--text needs a FILE or --record"),
        (["file.json", "--record", "x.json"], 2, "--record cannot be combined with FILE"),
        (["file.json", "--overwrite"], 2, "--overwrite needs --record"),
        (["file.json", "--costs"], 2, "--costs needs --record"),
        (["file.json", "--depth", "0"], 2, "--depth needs --record"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    status: int,
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "choose_tracing", lambda: None)
    try:
        found = command.main(arguments)
    except SystemExit as ended:
        found = int(str(ended.code))
    errors = capsys.readouterr().err
    assert (found, errors.count("\n")) == (status, 1)
    assert errors.startswith("secateur explore: ")
    assert complaint in errors


def test_an_earlier_recording_is_replaced_only_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "choose_tracing", lambda: None)
    file = tmp_path / "earlier.json"
    file.write_text('{"format":"secateur trace","version":1,"kind":"chess"}')
    arguments = ["--record", str(file), "--position", "no FEN"]  # which is refused after the file
    assert command.main(arguments) == 1
    assert f"{file} already exists; pass --overwrite to replace it\n" in capsys.readouterr().err
    assert command.main([*arguments, "--overwrite"]) == 1
    assert "neither a FEN nor a PGN" in capsys.readouterr().err


def test_a_port_that_is_taken_is_one_clear_line(explorer: Explorer) -> None:
    done = run_explore("--port", str(explorer.port))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert str(explorer.port) in done.stderr
