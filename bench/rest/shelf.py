"""The shelf of the movie service, which both Python servers put their movies onto: what movie_store.cpp does."""

import sqlite3
import threading


class Shelf:
    """In memory; for every thread, one after the other."""

    def __init__(self):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table movies (id integer primary key, title text not null, year integer not null, "
                        "director text not null, poster blob, views integer not null default 0)")

    def add(self, title, year, director, poster):
        """The id that the movie got."""
        with self.lock, self.db:  # a transaction
            cursor = self.db.execute("insert into movies (title, year, director, poster) values (?, ?, ?, ?)",
                                     (title, year, director, poster))
            return cursor.lastrowid
