"""The movies of both Python servers, in SQLite: what movie_store.cpp does."""

import sqlite3
import threading


class Shelf:
    """In memory; for every thread, one after the other."""

    def __init__(self):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table movie_messages (id integer primary key, movie blob not null, views integer not null default 0)")

    def add(self, movie):
        """Stores a movie in the server's own format; returns its id."""
        with self.lock, self.db:  # a transaction
            return str(self.db.execute("insert into movie_messages (movie) values (?)", (movie,)).lastrowid)
