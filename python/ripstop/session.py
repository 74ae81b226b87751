"""A simulation that the caller drives: messages are sent while it runs."""
import ctypes
from collections import namedtuple

from . import _c
from .sim import Result

SENT, DELIVERED, FAILED, TIMER = range(4)

News = namedtuple("News", "when what user message status")


class Session:
    """s = Session(fabric, seed=1); s.send(0, 5, 1 << 20); for news in s.run(): ...

    Times are picoseconds. What was sent ends at the same picosecond as the same flows of a fabric do.
    `user` of send() and at() is any object, which comes back with its news. under_way: messages of an
    endpoint that may be sent and not at their end; 0: 1024, or twice the endpoints.
    """

    def __init__(self, fabric, seed=1, under_way=0):
        options = _c.SessionOptions(seed=seed, under_way=under_way)
        self._p = _c.make(_c.lib.ripstop_session_new, fabric._p, ctypes.byref(options))
        self._users = {}
        self._n = 0

    def __del__(self):
        if getattr(self, "_p", None):
            _c.lib.ripstop_session_free(self._p)
            self._p = None

    @property
    def now(self):
        return _c.lib.ripstop_session_now(self._p)

    @property
    def unfinished(self):
        """Messages, flows of the fabric and ranks of its collectives that are not at their end."""
        return _c.lib.ripstop_session_unfinished(self._p)

    def _keep(self, user, uses):
        self._n += 1
        self._users[self._n] = [user, uses]
        return self._n

    def send(self, src, dst, bytes, user=None, start=0, traffic_class=-1):
        """A message between two endpoints, from `start` on; 0: now."""
        m = _c.Flow(start=int(start), bytes=int(bytes), src=src, dst=dst, traffic_class=traffic_class)
        key = self._keep(user, 2)
        try:
            _c.call(_c.lib.ripstop_session_send, self._p, ctypes.byref(m), key)
        except _c.Error:
            del self._users[key]
            raise

    def at(self, when, user=None):
        """News of a timer at this time, now or later."""
        key = self._keep(user, 1)
        try:
            _c.call(_c.lib.ripstop_session_at, self._p, int(when), key)
        except _c.Error:
            del self._users[key]
            raise

    def _take(self, key, what):
        kept = self._users[key]
        kept[1] = 0 if what == FAILED else kept[1] - 1
        if kept[1] <= 0:
            del self._users[key]
        return kept[0]

    def step(self, until=_c.NEVER):
        """Goes on until there is news, at most to `until`: a list of News, all of one time; empty: none until then."""
        n = _c.call(_c.lib.ripstop_session_run, self._p, int(until))
        buffer = (_c.News * n)()
        n = _c.lib.ripstop_session_news(self._p, buffer, n, ctypes.sizeof(_c.News))
        return [News(k.when, k.what, self._take(k.user, k.what), k.message if k.what != TIMER else None, k.status)
                for k in buffer[:n]]

    def run(self, until=_c.NEVER):
        """News one by one, until none is left. What is sent meanwhile is part of it."""
        while True:
            news = self.step(until)
            if not news:
                return
            yield from news

    def end(self):
        """A Result: the fabric's jobs, and "session", whose flows are the messages."""
        return Result(_c.make(_c.lib.ripstop_session_end, self._p))
