#!/usr/bin/env python3
"""`parsnets serve` under valid and hostile clients for a long time; all on this machine.

  soak.py [--seconds 1200] [--out out/reliability/soak.json]

Valid clients compare every answer with the one that the quiet server gave, and the quiet server's predictions with
those of `parsnets predict`. Hostile ones send slowly, do not read, do not hang up, or send what is no request;
slowhttptest joins them where it is installed. /healthz is asked every 20 ms over a new connection, from the address of
an attacker. Exit 1 for a wrong answer, for memory that grows, and where the 99th percentile of /healthz is above --p99.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import multiprocessing.pool
import random
import resource
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "data/demo"
VALID_ADDRESS, HEALTH_ADDRESS = "127.0.0.9", "127.0.0.1"
HOSTILE_ADDRESSES = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"]
HOSTILE_CLIENTS = 60
GROWTH = 1.1, 8 << 20  # of the memory between the second and the last quarter of the time, that is not called growth
MODES = ["-H", "-B", "-X"]  # of slowhttptest: slow heads, slow bodies, slow readers


def post(path, body, kind="application/json"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return "POST", path, body, {"Content-Type": kind}


def valid_requests(classes):
    like, other = classes[0]["class"], classes[1]["class"]
    bank = {"remove": [other], "add": [{"class": "soaked", "like": like, "attributes": {}}]}
    return [
        ("GET", "/v1/model", None, {}),
        ("GET", "/v1/classes", None, {}),
        ("GET", "/playground.js", None, {}),
        ("GET", "/v1/samples/sheet", None, {}),
        post("/v1/predict", {"samples": "all", "top": 3, "attributes": True}),
        post("/v1/predict", {"samples": [0, 5, 7], "bank": bank}),
        post("/v1/predict?top=2", (DEMO / "features.npy").read_bytes(), "application/x-npy"),
        post("/v1/explain", {"samples": [3]}),
        post("/v1/bank", {"bank": bank}),
        post("/v1/predict", {"samples": [10 ** 9]}),  # whose answer is an error
    ]


def connection_to(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(VALID_ADDRESS, 0))


def answer_of(connection, request):
    method, path, body, headers = request
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return response.status, response.read()


def valid_client(port, requests, answers, until, seed, results):
    """Sends requests in any order, compares the answers. A server that makes room may end a connection that waits."""
    choose, counts, wrong = random.Random(seed), {"requests": 0, "refused": 0, "ended": 0}, []
    connection = connection_to(port)
    while time.time() < until:
        i = choose.randrange(len(requests))
        try:
            answer = answer_of(connection, requests[i])
        except (OSError, http.client.HTTPException):
            counts["ended"] += 1
            connection.close()
            continue
        counts["requests"] += 1
        if answer[0] == 503:
            counts["refused"] += 1
            connection.close()
        elif answer != answers[i]:
            wrong.append(f"{requests[i][1]}: {answer[0]} {answer[1][:200]!r}")
    results.put(("valid", {**counts, "wrong": wrong}))


def health_client(port, until, results):
    """The seconds of each answer; infinite where there was none."""
    seconds, refused = [], 0
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    while time.time() < until:
        start = time.perf_counter()
        good = False
        try:
            with socket.create_connection(("127.0.0.1", port), 5, (HEALTH_ADDRESS, 0)) as client:
                client.sendall(request)
                said = b""
                for part in iter(lambda: client.recv(4096), b""):
                    said += part
                good = said.startswith(b"HTTP/1.1 200 ") and said.endswith(b'{"status":"ok"}')
        except OSError:
            pass
        took = time.perf_counter() - start
        seconds.append(took if good else float("inf"))
        refused += not good
        time.sleep(max(0.0, 0.02 - took))
    results.put(("health", {"seconds": seconds, "refused": refused}))


def hostile_bytes(choose):
    """A request that is none, or means harm."""
    good = post("/v1/predict", {"samples": [0]})[2]
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    whole = bytearray(head + b"Content-Length: %d\r\n\r\n" % len(good) + good)
    for _ in range(choose.randrange(1, 5)):
        whole[choose.randrange(len(whole))] = choose.randrange(256)
    many = b",".join(b'"a%d":1' % i for i in range(100000))
    bodies = [b"[" * 100000, b'{"features":[[' + b"1e5," * 300000, b'{"samples":[' + b"0," * 100000 + b"0]}",
              b'{"bank":{"add":[{"class":"x","attributes":{' + many + b"}}]}}", b"\xff" * 1000]
    body = choose.choice(bodies)
    return choose.choice([
        bytes(whole), head + b"Content-Length: %d\r\n\r\n" % len(body) + body, choose.randbytes(200) + b"\r\n\r\n",
        head + b"Content-Length: 99999999999\r\n\r\n", head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"GET / HTTP/1.1\r\nA: " + b"b" * 40000, b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02"])


async def hostile_client(port, number, until, counts):
    choose = random.Random(number)
    slow = [(b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X"),
            (b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", b" ")]
    body = json.dumps({"samples": "all", "top": 10, "attributes": True, "return_features": True}).encode()
    large = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    large += b"Content-Length: %d\r\n\r\n" % len(body) + body
    while time.time() < until:
        counts["connections"] += 1
        kind, writer = choose.randrange(6), None
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(choose.choice(HOSTILE_ADDRESSES), 0), limit=4096)
            if kind < 2:  # a byte from time to time
                start, more = slow[kind]
                writer.write(start)
                while time.time() < until and not reader.at_eof():
                    writer.write(more)
                    await writer.drain()
                    await asyncio.sleep(0.5)
            elif kind == 2:  # does not read
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                writer.write(large * 3)
                await asyncio.sleep(min(choose.uniform(1, 12), max(0.0, until - time.time())))
            elif kind == 3:  # hangs up in the middle
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.write(large[:choose.randrange(len(large))])
            else:
                writer.write(hostile_bytes(choose))
                said = await asyncio.wait_for(reader.read(12), 5)
                counts["refused"] += said.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))
                counts["failed"] += said.startswith((b"HTTP/1.1 500",))
                if kind == 5:  # does not hang up
                    await asyncio.sleep(choose.uniform(0, 3))
        except (OSError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            pass
        if writer is not None:
            writer.transport.abort()
        await asyncio.sleep(choose.uniform(0.02, 0.2))


def hostile_clients(port, until, results):
    counts = {"connections": 0, "refused": 0, "failed": 0}

    async def run():
        await asyncio.gather(*(hostile_client(port, i, until, counts) for i in range(HOSTILE_CLIENTS)))

    asyncio.run(run())
    results.put(("hostile", counts))


def slow_clients(port, until):
    """slowhttptest in each of its modes, one after the other; returns how often it ran."""
    runs = 0
    while shutil.which("slowhttptest") and until - time.time() > 5:
        mode = MODES[runs % len(MODES)]
        seconds = str(int(min(60.0, until - time.time())))
        subprocess.run(["slowhttptest", mode, "-c", "100", "-r", "25", "-i", "2", "-l", seconds, "-v", "0",
                        "-u", f"http://127.0.0.1:{port}/v1/predict"], stdout=subprocess.DEVNULL, check=False,
                       stderr=subprocess.DEVNULL)
        runs += 1
    return runs


def resident(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    return pages * resource.getpagesize()


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("inf")


def fifths(samples):
    """The medians of the five parts of the time: what grows without end grows in the last ones, too."""
    return [statistics.median(samples[i * len(samples) // 5:max(i + 1, (i + 1) * len(samples) // 5)] or samples[-1:])
            for i in range(5)]


def problems_of(found, samples, most_seconds):
    """What the run failed at; `samples`: resident bytes over its time."""
    problems = [f"wrong answer: {text}" for text in found["wrong_answers"]]
    if found["hostile"]["failed"]:
        problems.append(f"{found['hostile']['failed']} hostile requests got 500")
    if not found["requests"]:
        problems.append("no valid request was answered")
    if not found["healthz"]["p99"] <= most_seconds:
        problems.append(f"/healthz: p99 is {found['healthz']['p99']:.3f} s, expected at most {most_seconds} s")
    quarter = len(samples) // 4
    if quarter > 0:
        before, after = statistics.median(samples[quarter:2 * quarter]), statistics.median(samples[-quarter:])
        if after > GROWTH[0] * before + GROWTH[1]:
            problems.append(f"memory grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB")
    return problems


def quiet_answers(parsnets, model, port):
    """The requests and their answers; the predictions are those of the command."""
    connection = connection_to(port)
    requests = valid_requests(json.loads(answer_of(connection, ("GET", "/v1/classes", None, {}))[1])["classes"])
    answers = [answer_of(connection, request) for request in requests]
    command = [parsnets, "predict", "--model", model, "--input", str(DEMO / "features.npy"), "--top", "2", "--json"]
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    expected = [[one["class"] for one in sample["top"]] for sample in json.loads(told)["predictions"]]
    served = [[one["class"] for one in sample["classes"]] for sample in json.loads(answers[6][1])["predictions"]]
    if served != expected or [status for status, _ in answers] != [200] * 9 + [400]:
        sys.exit("soak.py: the quiet server does not answer as `parsnets predict` does")
    return requests, answers


def soak(parsnets, seconds, most_seconds, folder):
    model = str(folder / "model.safetensors")
    subprocess.run([parsnets, "train", "--data", str(DEMO), "--out", model, "--quiet"], stdout=subprocess.DEVNULL,
                   check=True)
    server = subprocess.Popen([parsnets, "serve", "--model", model, "--data", str(DEMO), "--port", "0", "--json"],
                              stdout=subprocess.PIPE)
    try:
        port = json.loads(server.stdout.readline())["port"]
        requests, answers = quiet_answers(parsnets, model, port)
        results, until, start = multiprocessing.Queue(), time.time() + seconds, resident(server.pid)
        clients = [multiprocessing.Process(target=valid_client, args=(port, requests, answers, until, i, results))
                   for i in range(3)]
        clients += [multiprocessing.Process(target=health_client, args=(port, until, results)),
                    multiprocessing.Process(target=hostile_clients, args=(port, until, results))]
        slow = multiprocessing.pool.ThreadPool(1)
        for client in clients:
            client.start()
        runs, samples = slow.apply_async(slow_clients, (port, until)), []
        while time.time() < until and server.poll() is None:
            samples.append(resident(server.pid))
            time.sleep(min(1.0, seconds / 20))
        if server.poll() is not None:
            sys.exit(f"soak.py: the server ended with code {server.returncode}")
        said = [results.get(timeout=120) for _ in clients]
        for client in clients:
            client.join()
        end = resident(server.pid)
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
    finally:
        server.kill()
        for client in multiprocessing.active_children():
            client.kill()
    valid = [one for kind, one in said if kind == "valid"]
    health, = [one for kind, one in said if kind == "health"]
    hostile, = [one for kind, one in said if kind == "hostile"]
    wrong = [text for one in valid for text in one["wrong"]]
    found = {"seconds": seconds, "requests": sum(one["requests"] for one in valid), "wrong": len(wrong),
             "wrong_answers": wrong[:20], "refused": sum(one["refused"] for one in valid),
             "ended": sum(one["ended"] for one in valid),
             "healthz": {"requests": len(health["seconds"]), "refused": health["refused"],
                         **{name: quantile(health["seconds"], share) for name, share in (("p50", .5), ("p99", .99))}},
             "rss_bytes": {"start": start, **{f"fifth {i + 1}": int(one) for i, one in enumerate(fifths(samples))},
                           "end": end, "max": max(samples)},
             "hostile": {**hostile, "runs_of_slowhttptest": runs.get(120)}, "exit_code": code}
    found["problems"] = problems_of(found, samples, most_seconds)
    if code != 0:
        found["problems"].append(f"the server ended with code {code}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--p99", type=float, default=0.1, metavar="SECONDS", help="of /healthz, at most")
    parser.add_argument("--out", type=Path, default=ROOT / "out/reliability/soak.json", metavar="FILE")
    parser.add_argument("--parsnets", default=str(ROOT / "build/parsnets"), metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = soak(arguments.parsnets, arguments.seconds, arguments.p99, Path(folder))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    health, memory = found["healthz"], found["rss_bytes"]
    finite = {name: value if value != float("inf") else None for name, value in health.items()}
    arguments.out.write_text(json.dumps({**found, "healthz": finite}, indent=1) + "\n", "utf-8")
    print(f"{found['requests']} valid requests, {found['wrong']} wrong answers, {found['refused']} refused, "
          f"{found['ended']} connections ended; {found['hostile']['connections']} hostile connections, "
          f"{found['hostile']['runs_of_slowhttptest']} runs of slowhttptest")
    print(f"/healthz: {health['requests']} asked, {health['refused']} refused, p50 {1e3 * health['p50']:.1f} ms, "
          f"p99 {1e3 * health['p99']:.1f} ms; resident {memory['start'] / 1e6:.1f} MB at the start, "
          f"{', '.join(f'{memory[part] / 1e6:.1f}' for part in memory if part.startswith('fifth'))} in each fifth of "
          f"the time, {memory['end'] / 1e6:.1f} at the end, {memory['max'] / 1e6:.1f} at most")
    if found["problems"]:
        sys.exit("soak.py: " + "; ".join(found["problems"]))


if __name__ == "__main__":
    main()
