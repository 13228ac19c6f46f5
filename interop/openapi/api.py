"""The HTTP APIs of the test: a pet store of the shape of the public document, and one that answers with what it received.

Only Python's standard library decodes the requests.
"""

import base64
import json
import threading
from email.parser import BytesParser
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

BEARER = "Bearer a-token-of-the-operator"
KEY = "a-key-of-the-operator"


class Refused(Exception):
    def __init__(self, status, message, headers=()):
        super().__init__(message)
        self.status, self.headers = status, headers


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        url = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append((self.command, self.path))
        headers = ()
        try:
            status, answer = 200, self.route(url, data)
        except Refused as refused:
            status, answer, headers = refused.status, {"type": "error", "message": str(refused)}, refused.headers
        text = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if text:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def route(self, url, data):
        match [unquote(segment) for segment in url.path.split("/")[1:]]:
            case ["v1", "oauth", "token"]:
                return self.token(data)
            case ["v1", "busy"] if self.server.busy > 0:
                self.server.busy -= 1
                raise Refused(429, "later", [("retry-after", "0")])
            case ["v1", "auth", "unset"]:
                raise Refused(401, f"no key, but {self.headers.get('authorization')}")
            case ["v1", *_]:
                return self.echo(url, data)
            case ["v2", *segments]:
                return self.store(segments, dict(parse_qsl(url.query)), parse_qsl(url.query), self.body(data))
        raise Refused(404, "there is nothing here")

    def token(self, data):
        login = base64.b64decode(self.headers["authorization"].removeprefix("Basic ")).decode()
        form = dict(parse_qsl(data.decode()))
        if login != "client:client-secret" or form != {"grant_type": "client_credentials", "scope": "read write"}:
            raise Refused(400, "invalid_client")
        self.server.granted += 1
        return {"access_token": f"granted-{self.server.granted}", "token_type": "Bearer", "expires_in": 3600}

    def echo(self, url, data):
        cookies = {name: unquote(morsel.value) for name, morsel in SimpleCookie(self.headers.get("cookie", "")).items()}
        wanted = ("authorization", "x-key", "x-value", "content-type")
        return {
            "method": self.command,
            "path": url.path,
            "raw_query": url.query,
            "query": parse_qsl(url.query, keep_blank_values=True),
            "headers": {name: self.headers[name] for name in wanted if name in self.headers},
            "cookies": cookies,
            "body": self.body(data),
        }

    def body(self, data):
        kind = self.headers.get("content-type", "")
        if not data:
            return None
        if "json" in kind:
            return json.loads(data)
        if kind == "application/x-www-form-urlencoded":
            return parse_qsl(data.decode())
        if kind.startswith("multipart/"):
            message = BytesParser().parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + data)
            return [self.part(part) for part in message.get_payload()]
        return base64.b64encode(data).decode() if "octet-stream" in kind or "image" in kind else data.decode()

    def part(self, part):
        name = part.get_param("name", header="content-disposition")
        content = base64.b64encode(part.get_payload(decode=True)).decode()
        return [name, part.get_filename(), part.get_content_type(), content]

    def store(self, segments, query, pairs, body):
        pets = self.server.pets
        is_user = self.headers.get("authorization") == BEARER
        is_keyed = self.headers.get("api_key") == KEY
        match self.command, segments:
            case "GET", ["store", "inventory"] if is_keyed:
                counts = {}
                for pet in pets.values():
                    counts[pet["status"]] = counts.get(pet["status"], 0) + 1
                return counts
            case "GET", ["pet", "findByStatus"] if is_user:
                wanted = [value for name, value in pairs if name == "status"]
                return [pet for pet in pets.values() if pet["status"] in wanted]
            case "POST", ["pet"] if is_user:
                pets[7] = body | {"id": 7}
                return pets[7]
            case "GET", ["pet", number] if is_keyed:
                if int(number) not in pets:
                    raise Refused(404, "there is no such pet")
                return pets[int(number)]
            case "POST", ["pet", number] if is_user:
                pets[int(number)] |= dict(body)
                return None
            case "POST", ["pet", number, "uploadImage"] if is_user:
                described = ", ".join(f"{name}={kind}" for name, _, kind, _ in body)
                return {"code": 200, "type": "stored", "message": f"{number}: {described}"}
            case "DELETE", ["pet", number] if is_user:
                del pets[int(number)]
                return None
            case "POST", ["user", "createWithList"]:
                self.server.users |= {user["username"]: user for user in body}
                return None
            case "GET", ["user", "login"]:
                if query["username"] not in self.server.users:
                    raise Refused(400, "Invalid username")
                return "logged in"
            case "GET", ["user", name]:
                return self.server.users[name]
        raise Refused(401, "a login is needed")


def start():
    """Starts the APIs on a free port; they end with this process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.daemon_threads = True
    server.pets, server.users, server.seen, server.granted, server.busy = {}, {}, [], 0, 2
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
