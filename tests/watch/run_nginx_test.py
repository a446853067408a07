#!/usr/bin/env python3
"""nginx with a module of ours that hangs in a handler: the worker, which is a child of the master
and another user, is watched with --follow; in the foreground and as a daemon."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from run_support import ENVIRONMENT, check, line_of, scratch, skip

SOURCES = "/usr/share/nginx/src"


def configure(folder):
    """nginx-dev's sources, configured as Debian does: for its headers."""
    tree = os.path.join(folder, "nginx")
    shutil.copytree(SOURCES, tree, symlinks=False)
    done = subprocess.run(["bash", "-c", '. ./conf_flags; ./configure "${NGX_CONF_FLAGS[@]}"'],
                          cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        skip("nginx-dev's sources cannot be configured: " + done.stderr.strip()[-200:])
    return tree


def build(compiler, tree, source, output):
    folders = ["src/core", "src/event", "src/event/modules", "src/os/unix", "objs", "src/http",
               "src/http/modules", "src/http/v2"]
    subprocess.run([compiler, "-shared", "-fPIC", "-g", "-O1", "-fno-optimize-sibling-calls",
                    *["-I" + folder for folder in folders], source, "-o", output], cwd=tree,
                   check=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def write_settings(folder, module, port, daemon):
    places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    temporary = " ".join(f"{place}_temp_path {folder}/{place};" for place in places)
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write(f"""load_module {module};
daemon {'on' if daemon else 'off'};
worker_processes 1;
error_log {folder}/error.log;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    {temporary}
    server {{
        listen 127.0.0.1:{port};
        location /fast {{ return 204; }}
        location /slow {{ slow 400; }}
    }}
}}
""")
    return path


def get(port, path):
    for _ in range(100):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20).status
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nginx does not answer")


def drive(command, settings, folder, port):
    run = subprocess.Popen([command, "run", "--follow", "--calls",
                            "getaddrinfo,open64,connect,nosuch_function", "--", "/usr/sbin/nginx",
                            "-c", settings], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           text=True, env=ENVIRONMENT)
    for _ in range(12):
        get(port, "/fast")
    get(port, "/slow")
    for _ in range(3):
        get(port, "/fast")
    with open(os.path.join(folder, "pid")) as file:
        os.kill(int(file.read()), signal.SIGTERM)
    text = run.communicate(timeout=30)[1]
    check(run.returncode == 0, f"exit status {run.returncode}", text)
    return text


def main():
    command, compiler, source = sys.argv[1:4]
    if not os.path.exists("/usr/sbin/nginx"):
        skip("nginx is not installed")
    if not os.path.exists(SOURCES + "/configure"):
        skip("nginx-dev is not installed")
    with scratch() as folder:
        os.chmod(folder, 0o755)
        module = os.path.join(folder, "ngx_http_slow_module.so")
        build(compiler, configure(folder), source, module)
        for daemon in (False, True):
            port = free_port()
            settings = write_settings(folder, module, port, daemon)
            text = drive(command, settings, folder, port)
            name = os.path.basename(source)
            check("1 hang of 250 ms or more" in text, "one hang", text)
            check(f"fetch_quota  {name}:{line_of(source, 'line: sleep')}" in text, "its line", text)
            check(f"1  fetch_quota  {name}:{line_of(source, 'line: getaddrinfo')}" in text,
                  "the call's line", text)
            check("processes were watched" in text, "master and worker", text)


main()
