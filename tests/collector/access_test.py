#!/usr/bin/env python3
"""access_test.py PATH/framewalk-collector [--postgres] [TEST...]: who may what: keys, tokens,
sessions, CSRF, projects, limits, the audit log. All against the real server, on SQLite or on a
PostgreSQL server that is started for it."""

import contextlib, json, os, subprocess, sys, time, unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import postgres
import server as server_module

POSTGRES = postgres.Server() if "--postgres" in sys.argv else None
databases = {}  # of folders


class Server(server_module.Server):
    def __init__(self, *options, **more):
        super().__init__(*options, **more)
        if POSTGRES:
            if self.folder not in databases:
                databases[self.folder] = POSTGRES.database("access%d" % len(databases))
            self.options += ["--database", databases[self.folder]]


ALL = ["reports:write", "symbols:write", "read", "symbols:read", "triage", "admin"]


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = Server().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__(None, None, None)

    def sign_in(self, token=None, **headers):
        reply = self.s.request("POST", "/api/v1/session", json.dumps({"token": token or self.s.token}),
                               dict({"Content-Type": "application/json"}, **headers), token=None)
        if reply.status != 200:
            return reply, None, None
        return reply, reply.headers["Set-Cookie"].split(";")[0], reply.json()["csrf"]

    def fresh(self):
        """A server of its own, for tests that use up its limits."""
        s = Server().__enter__()
        self.addCleanup(s.__exit__, None, None, None)
        return s

    # ---- tokens ----

    def test_nobody(self):
        for method, path in (("GET", "/api/v1/server"), ("GET", "/api/v1/tokens"),
                             ("POST", "/api/v1/tokens"), ("GET", "/api/v1/audit"),
                             ("GET", "/api/v1/projects"), ("DELETE", "/api/v1/tokens/1")):
            for token in (None, "", "x", "fwt_" + "0" * 64, "x" * 5000, "fwt_" + "0" * 64 + "\t"):
                reply = self.s.request(method, path, headers={} if token is None else
                                       {"Authorization": "Bearer " + token}, token=None)
                self.assertEqual(reply.status, 401, (method, path, token))
                self.assertIn("Bearer", reply.headers["WWW-Authenticate"])
        for value in ("Basic " + self.s.token, self.s.token, "Bearer", "Bearer  " + self.s.token + "x"):
            reply = self.s.get("/api/v1/server", headers={"Authorization": value}, token=None)
            self.assertEqual(reply.status, 401, value)

    def test_scopes(self):
        needs = {"/api/v1/server": "read", "/api/v1/projects": "read", "/api/v1/tokens": "admin",
                 "/api/v1/audit": "admin"}
        for scope in ALL:
            token = self.s.new_token([scope])
            for path, need in needs.items():
                reply = self.s.get(path, token=token)
                self.assertEqual(reply.status, 200 if scope == need else 403, (scope, path))
                if scope != need:
                    self.assertIn(need, reply.json()["error"])

    def test_nobody_gives_more_than_he_has(self):
        admin = self.s.new_token(["admin", "read"])
        for scopes, status in ((["read"], 201), (["admin"], 201), (["triage"], 403),
                               (["read", "symbols:write"], 403), ([], 400), (["all"], 400),
                               ([1], 400), ("read", 400)):
            got, value = self.s.json("POST", "/api/v1/tokens",
                                     {"kind": "token", "label": "x", "scopes": scopes}, token=admin)
            self.assertEqual(got, status, (scopes, value))

    def test_bad_tokens(self):
        good = {"kind": "token", "label": "x", "scopes": ["read"]}
        for change in ({"kind": "session"}, {"kind": None}, {"label": ""}, {"label": "x" * 64},
                       {"label": "a\nb"}, {"label": 1}, {"expires_ms": 1}, {"expires_ms": "soon"},
                       {"kind": "key"}):
            status, value = self.s.json("POST", "/api/v1/tokens", dict(good, **change))
            self.assertEqual(status, 400, (change, value))
        status, _ = self.s.json("POST", "/api/v1/tokens", dict(good, project="none"))
        self.assertEqual(status, 404)
        for body in (b"", b"{", b"[]", b"null", b"\xff", b'{"a":1,"a":2}', b"[" * 10000):
            reply = self.s.post("/api/v1/tokens", body, type="application/json")
            self.assertEqual(reply.status, 400, body[:20])
        self.assertEqual(self.s.post("/api/v1/tokens", b"{}", type="text/plain").status, 415)
        self.assertEqual(self.s.post("/api/v1/tokens", b" " * 20000, type="application/json").status, 413)

    def test_ends_at_once(self):
        token = self.s.new_token(["read"], label="to be revoked")
        self.assertEqual(self.s.get("/api/v1/server", token=token).status, 200)
        _, cookie, csrf = self.sign_in(token)
        self.assertEqual(self.s.get("/api/v1/server", headers={"Cookie": cookie}, token=None).status, 200)
        _, listed = self.s.json("GET", "/api/v1/tokens?limit=500")
        found = [t for t in listed["items"] if t["label"] == "to be revoked"]
        self.assertEqual(len(found), 1)
        self.assertNotIn("secret", found[0])
        path = "/api/v1/tokens/%d" % found[0]["id"]
        self.assertEqual(self.s.request("DELETE", path).status, 204)
        self.assertEqual(self.s.get("/api/v1/server", token=token).status, 401)
        # And with it the sessions that were made of it.
        self.assertEqual(self.s.get("/api/v1/server", headers={"Cookie": cookie}, token=None).status, 401)
        self.assertEqual(self.s.request("DELETE", path).status, 404)
        for path in ("/api/v1/tokens/0", "/api/v1/tokens/x", "/api/v1/tokens/99999999999999999999",
                     "/api/v1/tokens/-1", "/api/v1/tokens/1e3"):
            self.assertEqual(self.s.request("DELETE", path).status, 404, path)

    def test_expires(self):
        token = self.s.new_token(["read"], expires_ms=int(time.time() * 1000) + 1500)
        self.assertEqual(self.s.get("/api/v1/server", token=token).status, 200)
        for _ in range(100):
            if self.s.get("/api/v1/server", token=token).status == 401:
                return
            time.sleep(0.1)
        self.fail("it did not expire")

    def test_secrets_are_not_in_the_files(self):
        key = self.s.new_key()
        token = self.s.new_token(["read"])
        for name in os.listdir(os.path.join(self.s.folder, "db")):
            with open(os.path.join(self.s.folder, "db", name), "rb") as file:
                data = file.read()
            for secret in (key, token, self.s.token):
                self.assertNotIn(secret[4:].encode(), data)

    def test_only_the_owner_reads_the_folder(self):
        for folder, _, names in os.walk(self.s.folder):
            for name in names:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o077, 0, name)

    # ---- keys ----

    def test_keys_only_send(self):
        key = self.s.new_key()
        for method, path in (("GET", "/api/v1/server"), ("GET", "/api/v1/tokens"),
                             ("GET", "/api/v1/projects"), ("POST", "/api/v1/tokens")):
            self.assertEqual(self.s.request(method, path, token=key).status, 403)
        reply, _, _ = self.sign_in(key)
        self.assertEqual(reply.status, 401)

    # ---- projects ----

    def test_projects(self):
        status, value = self.s.json("POST", "/api/v1/projects", {"slug": "shop", "name": "Shop \u00fc"})
        self.assertEqual((status, value["slug"]), (201, "shop"))
        status, _ = self.s.json("POST", "/api/v1/projects", {"slug": "shop", "name": "Again"})
        self.assertEqual(status, 409)
        for slug in ("", "-a", "A", "a b", "\u00fc", "../x", "a" * 41, "a/b", 7):
            status, _ = self.s.json("POST", "/api/v1/projects", {"slug": slug, "name": "x"})
            self.assertEqual(status, 400, slug)
        _, all_of_them = self.s.json("GET", "/api/v1/projects")
        self.assertEqual({p["slug"] for p in all_of_them["items"]}, {"default", "shop"})
        _, first = self.s.json("GET", "/api/v1/projects?limit=1")
        self.assertEqual(len(first["items"]), 1)
        _, rest = self.s.json("GET", "/api/v1/projects?limit=1&after=" + first["next"])
        self.assertEqual(len(rest["items"]), 1)
        self.assertIsNone(rest["next"])
        for query in ("limit=0", "limit=501", "limit=x", "after=-1", "after=1;DROP"):
            self.assertEqual(self.s.get("/api/v1/projects?" + query).status, 400, query)

    def test_tokens_of_one_project(self):
        self.s.json("POST", "/api/v1/projects", {"slug": "one", "name": "One"})
        token = self.s.new_token(["read", "admin"], project="one")
        _, projects = self.s.json("GET", "/api/v1/projects", token=token)
        self.assertEqual([p["slug"] for p in projects["items"]], ["one"])
        self.assertEqual(self.s.json("POST", "/api/v1/projects", {"slug": "n", "name": "n"},
                                     token=token)[0], 403)
        self.assertEqual(self.s.get("/api/v1/audit", token=token).status, 403)
        new = {"kind": "token", "label": "x", "scopes": ["read"]}
        for project, status in ((None, 403), ("default", 403), ("one", 201)):
            got, _ = self.s.json("POST", "/api/v1/tokens", dict(new, project=project), token=token)
            self.assertEqual(got, status, project)
        _, tokens = self.s.json("GET", "/api/v1/tokens", token=token)
        self.assertEqual({t["project"] for t in tokens["items"]}, {"one"})
        _, mine = self.s.json("GET", "/api/v1/tokens")
        others = [t for t in mine["items"] if t["project"] is None]
        self.assertEqual(self.s.request("DELETE", "/api/v1/tokens/%d" % others[0]["id"],
                                        token=token).status, 404)

    # ---- sessions ----

    def test_sessions(self):
        s = self.fresh()
        self.s, shared = s, self.s
        try:
            reply, cookie, csrf = self.sign_in()
            flags = reply.headers["Set-Cookie"]
            for flag in ("HttpOnly", "SameSite=Strict", "Path=/"):
                self.assertIn(flag, flags)
            self.assertNotIn("Secure", flags)
            self.assertEqual(reply.json()["scopes"], ALL)
            mine = {"Cookie": "a=b; " + cookie + "; c=d"}
            reply = s.get("/api/v1/session", headers=mine, token=None)
            self.assertEqual((reply.status, reply.json()["csrf"]), (200, csrf))
            self.assertEqual(s.get("/api/v1/session", token=None).status, 401)
            self.assertEqual(s.get("/api/v1/session").status, 401)
            # The cookie's secret is no bearer token, and a token is no cookie.
            name, secret = cookie.split("=")
            self.assertEqual(s.get("/api/v1/server", token=secret).status, 401)
            self.assertEqual(s.get("/api/v1/server", headers={"Cookie": "%s=%s" % (name, s.token)},
                                   token=None).status, 401)
            self.assertEqual(s.request("DELETE", "/api/v1/session",
                                       headers=dict(mine, **{"X-CSRF-Token": csrf}),
                                       token=None).status, 204)
            self.assertEqual(s.get("/api/v1/session", headers=mine, token=None).status, 401)
            # A cookie that ended does not keep from signing in.
            reply, _, _ = self.sign_in(Cookie=cookie)
            self.assertEqual(reply.status, 200)
        finally:
            self.s = shared

    def test_cross_site(self):
        s = self.fresh()
        self.s, shared = s, self.s
        try:
            _, cookie, csrf = self.sign_in()
            body = json.dumps({"slug": "x", "name": "x"})
            own = "127.0.0.1:%d" % s.port
            good = {"Cookie": cookie, "Content-Type": "application/json", "X-CSRF-Token": csrf}

            def post(**change):
                headers = {k: v for k, v in dict(good, **change).items() if v is not None}
                return s.request("POST", "/api/v1/projects", body, headers, token=None).status

            self.assertEqual(post(**{"X-CSRF-Token": None}), 403)
            self.assertEqual(post(**{"X-CSRF-Token": ""}), 403)
            self.assertEqual(post(**{"X-CSRF-Token": csrf[:-1]}), 403)
            self.assertEqual(post(**{"X-CSRF-Token": csrf + "0"}), 403)
            self.assertEqual(post(Origin="https://evil.example"), 403)
            self.assertEqual(post(Origin="null"), 403)
            self.assertEqual(post(Origin="http://" + own + ".evil.example"), 403)
            self.assertEqual(post(**{"Sec-Fetch-Site": "cross-site"}), 403)
            self.assertEqual(post(**{"Sec-Fetch-Site": "same-site"}), 403)
            self.assertEqual(post(Origin="http://" + own, **{"Sec-Fetch-Site": "same-origin"}), 201)
            # Tokens need none of that: no browser sends them by itself.
            self.assertEqual(s.json("POST", "/api/v1/projects", {"slug": "y", "name": "y"},
                                    headers={"Origin": "https://ci.example"})[0], 201)
            reply, _, _ = self.sign_in(Origin="https://evil.example")
            self.assertEqual(reply.status, 403)
            _, other, other_csrf = self.sign_in()
            self.assertEqual(post(**{"X-CSRF-Token": other_csrf}), 403)
        finally:
            self.s = shared

    def test_signing_in_is_limited(self):
        s = self.fresh()
        seen = []
        for i in range(15):
            reply = s.request("POST", "/api/v1/session", json.dumps({"token": "fwt_%064d" % i}),
                              {"Content-Type": "application/json"}, token=None)
            seen.append(reply.status)
        self.assertEqual(seen[:10], [401] * 10)
        self.assertEqual(seen[-1], 429)
        self.assertGreater(int(reply.headers["Retry-After"]), 0)
        self.assertEqual(s.get("/api/v1/server").status, 200)

    def test_behind_a_proxy_with_tls(self):
        with Server("--base-url", "https://reports.example/") as s:
            reply = s.request("POST", "/api/v1/session", json.dumps({"token": s.token}),
                              {"Content-Type": "application/json"}, token=None)
            self.assertTrue(reply.headers["Set-Cookie"].startswith("__Host-"))
            self.assertIn("Secure", reply.headers["Set-Cookie"])

    # ---- limits ----

    def test_rate_limits(self):
        with Server("--requests-per-minute", "60") as s:
            seen = [s.get("/api/v1/server") for _ in range(60)]
            self.assertEqual(seen[0].status, 200)
            last = seen[-1]
            self.assertEqual(last.status, 429)
            self.assertRegex(last.headers["Retry-After"], r"^\d+$")
            # Health and page are not counted.
            self.assertEqual(s.get("/healthz", token=None).status, 200)
            self.assertEqual(s.get("/", token=None).status, 200)

    # ---- audit ----

    def test_audit(self):
        s = self.fresh()
        token = s.new_token(["read", "admin"], label="<script>alert(1)</script>")
        s.json("POST", "/api/v1/projects", {"slug": "seen", "name": "Seen"}, token=token)
        _, value = s.json("GET", "/api/v1/audit")
        actions = [(a["label"], a["action"], a["subject"]) for a in value["items"]]
        self.assertEqual(actions[0], ("<script>alert(1)</script>", "project.create", "seen"))
        self.assertEqual(actions[1][:2], ("admin", "token.create"))
        self.assertEqual(actions[2][:2], ("framewalk serve", "token.create"))
        reply = s.get("/api/v1/audit")
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        self.assertNotIn(token, reply.text())

    # ---- the first token ----

    def test_first_token_once(self):
        s = self.fresh()
        first = s.token
        self.assertRegex(first, r"^fwt_[0-9a-f]{64}$")
        self.assertEqual(s.stop(), 0)
        s.token = None
        s.start()
        self.assertIsNone(s.token)
        self.assertEqual(s.get("/api/v1/server", token=first).status, 200)
        made = subprocess.run([server_module.program(), "--data", s.folder, "--new-token"] + s.options,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(s.get("/api/v1/tokens", token=made.stdout.strip()).status, 200)

    def test_last_use_is_written(self):
        s = self.fresh()
        self.assertEqual(s.get("/api/v1/server").status, 200)
        s.stop()
        s.start()
        _, value = s.json("GET", "/api/v1/tokens")
        self.assertGreater(value["items"][0]["used_ms"], value["items"][0]["created_ms"] - 1)

    def test_two_servers_one_database(self):
        """What ends on one server ends on the other within what it remembers."""
        with Server(folder=self.s.folder, token=self.s.token) as other:
            token = self.s.new_token(["read"], label="of both")
            self.assertEqual(other.get("/api/v1/server", token=token).status, 200)
            _, listed = self.s.json("GET", "/api/v1/tokens?limit=500")
            number = [t["id"] for t in listed["items"] if t["label"] == "of both"][0]
            self.assertEqual(self.s.request("DELETE", "/api/v1/tokens/%d" % number).status, 204)
            for _ in range(100):
                if other.get("/api/v1/server", token=token).status == 401:
                    return
                time.sleep(0.1)
            self.fail("the other server still takes it")

    def test_tokens_in_the_path_are_for_symbols_alone(self):
        token = self.s.new_token(["read", "symbols:read"])
        for path in ("/api/v1/server", "/healthz", "/metrics", "/", "/api/v1/session"):
            self.assertEqual(self.s.get("/s/%s%s" % (token, path), token=None).status, 404, path)


def main():
    wanted = [a for a in sys.argv[1:] if not os.path.exists(a) and a != "--postgres"]
    unittest.main(argv=[sys.argv[0]] + wanted)


if __name__ == "__main__":
    try:
        with POSTGRES or contextlib.nullcontext():
            main()
    except postgres.Missing as missing:
        print("skip: %s" % missing)
        sys.exit(server_module.SKIP)
