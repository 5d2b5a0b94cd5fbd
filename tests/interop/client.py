"""Python's http.client, and a raw socket, against a server: client.py URL TOKEN."""

import hashlib
import http.client
import json
import socket
import sys
from urllib.parse import urlsplit

URL, TOKEN = urlsplit(sys.argv[1]), sys.argv[2]
AUTH = {"Authorization": "Bearer " + TOKEN}
BYTES = {"Content-Type": "application/octet-stream"}
JSON = {"Content-Type": "application/json"}
BIG = bytes(range(256)) * (5 * 1024 * 4)


def connect():
    return http.client.HTTPConnection(URL.hostname, URL.port, timeout=30)


def main():
    one_connection()
    refusal_before_the_body_was_read()
    frames_as_they_come()
    pipelined()


def one_connection():
    conn = connect()
    conn.connect()
    sock = conn.sock

    def call(method, path, status, body=None, headers={}, **how):
        conn.request(method, path, body, {**AUTH, **headers}, **how)
        reply = conn.getresponse()
        data = reply.read()
        assert reply.status == status, (method, path, reply.status, data)
        assert conn.sock is sock, "another connection"
        return reply, data

    def refused(code, *request, **how):
        error = json.loads(call(*request, **how)[1])["error"]
        assert error["code"] == code and error["message"], error

    assert json.loads(call("GET", "/v1/info", 200)[1])["wire"] == 1
    call("PUT", "/v1/fs/file?path=py/big", 204, BIG, BYTES)
    reply, data = call("GET", "/v1/fs/file?path=py/big", 200)
    assert hashlib.sha256(data).digest() == hashlib.sha256(BIG).digest() and int(reply.headers["Content-Length"]) == len(BIG)
    pieces = [b"in ", b"a few ", b"pieces"]
    call("PUT", "/v1/fs/file?path=py/small", 204, iter(pieces), BYTES, encode_chunked=True)
    assert call("GET", "/v1/fs/file?path=py/small", 200)[1] == b"".join(pieces)
    reply, data = call("HEAD", "/v1/fs/file?path=py/small", 200)
    assert reply.headers["Content-Length"] == "15" and data == b""
    refused("not_exist", "GET", "/v1/fs/stat?path=py/none", 404)
    refused("outside", "GET", "/v1/fs/stat?path=../x", 403)
    refused("invalid", "GET", "/v1/fs/stat", 400)
    refused("unsupported", "GET", "/v1/nothing", 404)
    assert call("POST", "/v1/info", 405)[0].headers["Allow"] == "GET, HEAD"
    out = call("POST", "/v1/exec", 200, json.dumps({"args": ["echo", "hi"]}), JSON)[1]
    assert json.loads(out) == {"output": {"stdout": "aGkK", "exitCode": 0}}, out
    conn.close()


def refusal_before_the_body_was_read():
    conn = connect()
    conn.request("PUT", "/v1/fs/file?path=py/no", bytes(512 * 1024), BYTES)
    reply = conn.getresponse()
    assert reply.status == 401 and reply.headers["WWW-Authenticate"] == "Bearer" and json.loads(reply.read())["error"]["code"]
    conn.close()


def frames_as_they_come():
    # The command goes on only once its first line was seen here.
    script = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second"
    body = {"args": ["sh", "-c", script], "dir": "py", "stream": True, "timeoutMs": 20000}
    conn, other = connect(), connect()
    conn.request("POST", "/v1/exec", json.dumps(body), {**AUTH, **JSON})
    reply = conn.getresponse()
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/x-ndjson"
    assert json.loads(reply.readline()) == {"data": "Zmlyc3QK"}
    other.request("PUT", "/v1/fs/file?path=py/go", b"", {**AUTH, **BYTES})
    assert other.getresponse().status == 204
    rest = [json.loads(line) for line in reply]
    assert rest == [{"data": "c2Vjb25kCg=="}, {"output": {"exitCode": 0}}], rest
    conn.close(), other.close()


class OneStream:
    """What HTTPResponse reads from: one buffer for all replies."""

    def __init__(self, sock):
        self.stream = sock.makefile("rb")
        self.close = self.stream.close

    def makefile(self, _mode):
        return self

    def __getattr__(self, name):
        return getattr(self.stream, name)


def pipelined():
    head = "Host: localhost\r\nAuthorization: Bearer %s\r\n" % TOKEN
    put = "PUT /v1/fs/file?path=py/piped HTTP/1.1\r\n%sContent-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nbody" % head
    gets = ["GET %s HTTP/1.1\r\n%s\r\n" % (path, head) for path in ("/v1/fs/file?path=py/piped", "/v1/fs/stat?path=py/none", "/v1/info")]
    with socket.create_connection((URL.hostname, URL.port), timeout=30) as sock:
        sock.sendall("".join([put] + gets).encode())
        stream, replies = OneStream(sock), []
        stream.close = lambda: None
        for _ in range(4):
            reply = http.client.HTTPResponse(stream)
            reply.begin()
            replies.append((reply.status, reply.read()))
    assert [status for status, _ in replies] == [204, 200, 404, 200] and replies[1][1] == b"body", replies


main()
