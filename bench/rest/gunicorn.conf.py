"""Gunicorn as its documentation has it for threads: one process, as there is one core; all else is its default."""

bind = "127.0.0.1:0"
workers = 1
threads = 10  # as many as the server of gRPC


def when_ready(server):
    host, port = server.LISTENERS[0].sock.getsockname()
    print(f"listening on {host}:{port}", flush=True)
