#!/usr/bin/env python3
"""docs/openapi.yaml is true: its paths are the server's routes, and every answer fits its schema."""
import os
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print("skip: %s (python3-yaml, python3-jsonschema)" % missing)
    sys.exit(77)

import api_support
import debug_files
from server import Server, program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DATA = os.path.join(ROOT, "..", "shared", "data", "reports")
sys.setrecursionlimit(20000)


def shape(path):
    return re.sub(r"\{[^}]*\}", "{}", path)


def documented_elsewhere(path):
    """The page, and the paths of symbol servers (docs/symbol-server.md)."""
    return not path.startswith("/api/") and path not in ("/healthz", "/metrics")


def check_routes(spec):
    listed = subprocess.run([program(), "--routes"], check=True, capture_output=True, text=True)
    served = {(m.lower(), shape(p)) for m, p in (line.split(" ", 1) for line in
              listed.stdout.splitlines()) if not documented_elsewhere(p)}
    written = {(m, shape(p)) for p, item in spec["paths"].items() for m in item if m in VERBS}
    assert served - written == set(), "not documented: %s" % sorted(served - written)
    served |= {("head", path) for method, path in served if method == "get"}
    assert written - served == set(), "not served: %s" % sorted(written - served)
    return written


VERBS = {"get", "put", "post", "delete", "patch", "head", "options"}


def check_document(spec):
    """What a validator of OpenAPI 3.1 looks for; YAML makes a null of a comma in a text without quotes, and true of
    "yes"."""
    def walk(value, at):
        assert value is not None, "null at %s: a text without quotes?" % at
        if isinstance(value, dict):
            for name in ("description", "summary", "operationId", "title"):
                assert not isinstance(value.get(name, ""), (bool, int, float)), (at, name, value[name])
            if isinstance(value.get("$ref"), str):
                found = spec
                for part in value["$ref"][2:].split("/"):
                    assert part in found, (at, value["$ref"])
                    found = found[part]
            for name, item in value.items():
                walk(item, "%s.%s" % (at, name))
        if isinstance(value, list):
            for i, item in enumerate(value):
                walk(item, "%s[%d]" % (at, i))

    walk(spec, "")
    resolve = Checker(None, spec).resolve
    names = {}
    for path, item in spec["paths"].items():
        for verb in VERBS & set(item):
            operation = item[verb]
            name = operation.get("operationId", "")
            assert re.fullmatch("[a-z]+([A-Z][A-Za-z0-9]*)+", name), (verb, path, name)
            assert names.setdefault(name, (verb, path)) == (verb, path), (name, names[name], path)
            assert all("description" in resolve(r) for r in operation["responses"].values()), (verb, path)
            parameters = [resolve(p) for p in item.get("parameters", []) + operation.get("parameters", [])]
            declared = {p["name"] for p in parameters if p["in"] == "path"}
            assert declared == set(re.findall(r"\{([^}]*)\}", path)), (verb, path, declared)
    try:
        from openapi_spec_validator import OpenAPIV31SpecValidator
    except ImportError:
        print("note: no openapi-spec-validator (PyPI): the document's own checks alone")
        return
    wrong = [(list(e.absolute_path), e.message) for e in OpenAPIV31SpecValidator(spec).iter_errors()]
    assert not wrong, wrong


class Checker:
    def __init__(self, server, spec):
        self.server, self.spec, self.seen = server, spec, set()

    def resolve(self, item):
        while "$ref" in item:
            found = self.spec
            for part in item["$ref"][2:].split("/"):
                found = found[part]
            item = found
        return item

    def check(self, method, pattern, path, status, type_, value):
        operation = self.spec["paths"][pattern][method]
        answers = operation["responses"]
        assert str(status) in answers, (method, path, status, value)
        answer = self.resolve(answers[str(status)])
        self.seen.add((method, shape(pattern)))
        content = answer.get("content", {})
        if not content:
            return
        kind = type_.split(";")[0].strip()
        assert kind in content, (method, path, type_)
        if kind == "application/json" and value is not None:
            schema = dict(content[kind]["schema"], components=self.spec["components"])
            jsonschema.Draft202012Validator(schema).validate(value)

    def call(self, method, pattern, values=None, query="", body=None, **rest):
        path = pattern
        for name, value in (values or {}).items():
            path = path.replace("{%s}" % name, str(value))
        headers = rest.pop("headers", {})
        if isinstance(body, (dict, list)):
            import json
            body = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        reply = self.server.request(method.upper(), path + query, body, headers, **rest)
        type_ = reply.headers.get("Content-Type", "")
        is_json = type_.startswith("application/json") and reply.body
        value = reply.json() if is_json else None
        self.check(method, pattern, path + query, reply.status, type_, value)
        return value if is_json else reply


def fill(server):
    key = server.new_key()
    api_support.send(server, key, api_support.made_reports(count=80))
    api_support.send(server, key, api_support.made_reports(seed=2, count=60, calls=1000))
    api_support.wait_processed(server)


def import_foreign(c, P):
    kinds = set()
    names = sorted(os.listdir(DATA)) if os.path.isdir(DATA) else []
    for name in names:
        if not re.match(r"(ips|llvm|mx|ksc|nsex)", name):
            continue
        with open(os.path.join(DATA, name), "rb") as file:
            reply = c.server.post("/api/v1/projects/default/import", file.read())
        if reply.status in (200, 201):
            c.check("post", P + "import", name, reply.status,
                    reply.headers["Content-Type"], reply.json())
            kinds.add(reply.json()["kind"])
    if not names:
        print("note: no foreign reports here (../shared/data)")
        text = b"0x1000 1\nlibc.so.6+0x1234\n"
        c.call("post", P + "import", {"project": "default"}, body=text,
               headers={"Content-Type": "application/octet-stream"})
    api_support.wait_processed(c.server)
    return kinds


def check_hangs(c, P, at):
    overview = c.call("get", P + "overview", at)
    assert sum(v["reports"] for v in overview["versions"]) >= 80, overview["versions"]
    assert overview["top"] and overview["new"]
    top = {g["id"]: g for g in overview["top"]}
    both = [g for g in overview["new"] if g["id"] in top]
    assert both and all(g == top[g["id"]] for g in both), "one group, two numbers"
    for query in ("?days=30", "?version=2.10", "?version=2.10%20(1207)"):
        c.call("get", P + "overview", at, query)
    os_ = overview["platforms"]["os"][0]["name"]
    device = overview["platforms"]["devices"][0]["name"]
    import urllib.parse
    for values in ({"os": os_}, {"device": device}, {"os": os_, "device": device}):
        query = "?" + urllib.parse.urlencode(values)
        for path in ("overview", "groups"):
            c.call("get", P + path, at, query)
    groups = c.call("get", P + "groups", at)
    assert groups["total"] >= len(groups["items"]) > 3
    blocked = [g["blocked_ns"] for g in groups["items"]]
    assert blocked == sorted(blocked, reverse=True)
    first = groups["items"][0]
    assert sum(first["trend"]) == first["blocked_ns"]
    values = dict(at, id=first["id"])
    group = c.call("get", P + "groups/{id}", values)
    assert group["heaviest"] and sum(h["reports"] for h in group["histogram"]) == group["reports"]
    c.call("get", P + "groups/{id}", values, "?" + urllib.parse.urlencode({"os": os_}))
    flame = c.call("get", P + "groups/{id}/flame", values)
    assert flame["root"]["value"] > 0
    assert flame["root"]["value"] >= sum(n["value"] for n in flame["root"]["children"])
    check_flames(c, P, at, values, group)
    stacks = c.call("get", P + "groups/{id}/stacks", values)
    assert len(stacks["items"]) == min(50, stacks["total"])
    assert stacks["blocked_ns"] >= sum(s["blocked_ns"] for s in stacks["items"]) > 0
    reports = c.call("get", P + "groups/{id}/reports", values)
    assert len(reports["items"]) == min(50, group["reports"])
    return first["id"]


def check_flames(c, P, at, values, group):
    """A filter takes its part of the time; of all versions together that is the whole."""
    import urllib.parse
    whole = c.call("get", P + "groups/{id}/flame", values, "?days=400")["root"]["value"]
    blocked = c.call("get", P + "groups/{id}", values, "?days=400")
    parts = 0
    for version in blocked["versions"]:
        query = "?days=400&" + urllib.parse.urlencode({"version": version["version"]})
        part = c.call("get", P + "groups/{id}/flame", values, query)["root"]["value"]
        assert abs(part - version["blocked_ns"]) <= version["blocked_ns"] * 0.01 + 1e6, (part, version)
        parts += part
    assert len(blocked["versions"]) > 1 and abs(parts - whole) <= whole * 0.001 + 1e6, (parts, whole)
    every = c.call("get", P + "flame", at, "?days=400")["root"]["value"]
    assert every >= whole, (every, whole)


def check_pages(c, P, at):
    for pattern, key in ((P + "groups", "id"), (P + "reports", "id")):
        whole = [i[key] for i in c.call("get", pattern, at, "?limit=500")["items"]]
        found, after = [], ""
        while True:
            page = c.call("get", pattern, at, "?limit=7" + after)
            found += [i[key] for i in page["items"]]
            if not page["next"]:
                break
            after = "&after=" + page["next"]
        assert found == whole and len(set(found)) == len(found) > 7, (pattern, len(found))


def check_reports(c, P, at):
    reports = c.call("get", P + "reports", at, "?limit=500")["items"]
    kinds = {r["kind"]: r["id"] for r in reports}
    for kind, id_ in sorted(kinds.items()):
        values = dict(at, id=id_)
        report = c.call("get", P + "reports/{id}", values)
        assert report["id"] == id_ and report["body"], report
        assert report["threads"] or report["stacks"] or report["calls"], kind
        for to in ("raw", "text", "json", "crash", "collapsed", "speedscope", "pprof", "firefox"):
            path = "/api/v1/projects/default/reports/%s/download?to=%s" % (id_, to)
            reply = c.server.get(path)
            c.check("get", P + "reports/{id}/download", path, reply.status,
                    reply.headers["Content-Type"], None)
            assert reply.status in (200, 422), (kind, to, reply.status, reply.body[:200])
            if reply.status == 200:
                assert re.fullmatch(r'attachment; filename="[A-Za-z0-9.-]+"',
                                    reply.headers["Content-Disposition"])
    assert c.call("get", P + "reports", at, "?q=" + reports[0]["id"][:12])["items"]
    print("kinds of reports:", " ".join(sorted(kinds)))


def check_calls(c, P, at):
    calls = c.call("get", P + "calls", at)
    assert set(calls["apis"]) == {"open", "getaddrinfo", "connect", "unlink"}
    row = calls["rows"][0]
    in_versions = c.call("get", P + "calls/versions", at, "?api=%s&image=%s" % (row["api"], row["caller"]["image"] or ""))
    assert sum(v["count"] for v in in_versions["items"]) == row["count"] and not row["allowed"]
    limits = {item["kind"]: item for item in c.call("get", P + "limits", at)["items"]}
    assert limits["stacks"]["made"] > 0 and not limits["stacks"]["near"]
    versions = c.call("get", P + "versions", at, "?limit=2")
    assert versions["truncated"] and len(versions["items"]) == 2 < versions["total"]
    c.call("post", P + "versions", at, body={"version": "2.8", "released_ms": 1, "prerelease": None})
    diff = c.call("get", P + "calls/diff", at, "?from=2.8&to=2.10")
    assert diff["new"] == diff["not_allowed"] or diff["changed"]
    assert c.call("get", P + "calls/stacks", at, "?api=%s&image=%s" % (
        row["api"], row["caller"]["image"] or ""))["items"]
    rule = c.call("post", P + "calls/allow", at, body={"api": row["api"], "caller": "*!*"})
    again = c.call("get", P + "calls", at)["rows"]
    assert all(r["allowed"] == (r["api"] == row["api"]) for r in again)
    assert {r["rule"] for r in again if r["allowed"]} == {rule["id"]}
    c.call("get", P + "calls/allow", at)
    assert c.call("get", P + "calls.csv", at).text().startswith("api,function,")
    c.call("delete", P + "calls/allow/{id}", dict(at, id=rule["id"]))


def check_access(c):
    A = "/api/v1/"
    c.call("get", A + "server")
    c.call("get", A + "projects")
    c.call("post", A + "projects", body={"slug": "other", "name": "Other"})
    c.call("get", A + "tokens")
    made = c.call("post", A + "tokens", body={"kind": "token", "label": "t", "scopes": ["read"],
                                              "project": None, "expires_ms": None})
    c.call("delete", A + "tokens/{id}", {"id": made["id"]})
    c.call("get", A + "audit")
    reply = c.server.request("POST", A + "session", b'{"token": "%s"}' % c.server.token.encode(),
                             {"Content-Type": "application/json"}, token=None)
    c.check("post", A + "session", "session", reply.status, reply.headers["Content-Type"],
            reply.json())
    cookie = {"Cookie": reply.headers["Set-Cookie"].split(";")[0]}
    c.call("get", A + "session", headers=dict(cookie), token=None)
    c.call("delete", A + "session", token=None,
           headers=dict(cookie, **{"X-CSRF-Token": reply.json()["csrf"]}))
    c.call("get", "/healthz")
    c.call("get", "/metrics")
    assert c.call("post", A + "server/clock")["believed"]
    assert c.call("get", A + "damaged") == {"items": [], "next": None}
    c.call("get", A + "openapi.yaml", token=None)


def check_source(c, A):
    c.call("get", A + "symbols/source", query="?image=abcd&file=/a.c&line=1")
    c.call("get", A + "symbols/source", query="?line=1")
    with tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
        path = debug_files.compile_elf(folder)
        if not path:
            print("note: no compiler: no source is asked for")
            return
        key = os.path.join(folder, "token")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write(c.server.token)
        subprocess.run([api_support.tool("framewalk"), "push", "--wait", "--sources", path, "--to",
                        c.server.url(), "--key-file", key], check=True, capture_output=True)
        value = c.call("get", A + "symbols/source", query="?image=%s&line=3&file=%s" % (
            debug_files.build_id(path), path + ".c"))
        assert "load_prices" in value["context_line"], value


def check_symbols(c):
    A = "/api/v1/"
    c.call("get", A + "symbols/missing", query="?project=default")
    c.call("post", A + "symbols/have", body={"ids": [{"debug_id": "ab" * 20, "arch": "x86_64",
                                                      "kind": "debuginfo"}]})
    check_source(c, A)
    files = c.call("get", A + "symbols/files")["items"]
    for project in ("default", None) if files else ():
        c.call("patch", A + "symbols/files/{id}", {"id": files[0]["id"]}, body={"project": project})
    c.call("post", A + "symbolicate", body=b"0x1000\n", headers={"Content-Type": "text/plain"})
    c.call("post", A + "symbolicate", body=b"0x1000\n",
           headers={"Content-Type": "text/plain", "Accept": "application/json"})
    c.call("options", A + "uploads", token=None)
    id_ = {"id": c.call("post", A + "uploads", headers={
        "Tus-Resumable": "1.0.0", "Upload-Length": "10"})["id"]}
    c.call("head", A + "uploads/{id}", id_, headers={"Tus-Resumable": "1.0.0"})
    c.call("patch", A + "uploads/{id}", id_, body=b"12345", headers={
        "Tus-Resumable": "1.0.0", "Upload-Offset": "0",
        "Content-Type": "application/offset+octet-stream"})
    c.call("get", A + "uploads/{id}", id_)
    c.call("delete", A + "uploads/{id}", id_, headers={"Tus-Resumable": "1.0.0"})


def check_triage(c, P, at, group):
    values = dict(at, id=group)
    for body in ({"action": "note", "note": "<b>"}, {"action": "ignore"}, {"action": "open"},
                 {"action": "resolve", "version": "2.10"}, {"action": "open"}):
        c.call("post", P + "groups/{id}", values, body=body)
    rules = c.call("get", P + "rules", at)
    c.call("post", P + "rules/preview", at, body={"text": rules["text"]})
    c.call("put", P + "rules", at, body={"text": rules["text"]})


def check_keep(c, P, at):
    kept = c.call("get", P + "settings", at)
    assert c.call("put", P + "settings", at, body={"body_days": 20}) == dict(kept, body_days=20)
    c.call("put", P + "settings", at, body=kept)
    assert c.call("get", P + "retention", at)["reports"] == 0
    c.call("post", P + "retention", at)
    c.call("post", P + "forget", at, body={"install": "nobody"})
    assert c.call("get", P + "failed", at) == {"items": [], "next": None}
    for action in ("requeue", "delete"):
        assert c.call("post", P + "failed/" + action, at, body={"all": True}) == {"reports": 0, "left": 0}


def main():
    with open(os.path.join(ROOT, "docs", "openapi.yaml")) as file:
        text = file.read()
    spec = yaml.safe_load(text)
    jsonschema.Draft202012Validator.check_schema(
        {"$defs": spec["components"]["schemas"]})
    check_document(spec)
    written = check_routes(spec)
    P, at = "/api/v1/projects/{project}/", {"project": "default"}
    with Server("--requests-per-minute", "0") as server:
        assert server.get("/api/v1/openapi.yaml", token=None).text() == text
        c = Checker(server, spec)
        fill(server)
        c.seen.add(("post", "/api/v1/reports"))
        import_foreign(c, P)
        check_access(c)
        group = check_hangs(c, P, at)
        check_pages(c, P, at)
        check_reports(c, P, at)
        check_calls(c, P, at)
        check_symbols(c)
        check_triage(c, P, at, group)
        check_keep(c, P, at)
        left = {(m, p) for m, p in written if (m, p) not in c.seen}
        # Answered by tests of their own, which upload a file first.
        assert left <= {("delete", "/api/v1/symbols/files/{}"), ("patch", "/api/v1/symbols/files/{}")}, "never called: %s" % sorted(left)


if __name__ == "__main__":
    main()
