#!/usr/bin/env python3
"""Proves that check_includes.py sees what it should: a tree with one file per include is made, and judged."""

import pathlib
import tempfile
import unittest

import check_includes

ALLOWED = """
include/mortise/lock.hpp        mortise/types.hpp
include/mortise/lock.hpp        vector
src/sys/futex.hpp               sys/syscall.h
src/sys/mapping.cpp             boost/interprocess/mapped_region.hpp
src/segment/segment.hpp         sys/futex.hpp
src/segment/segment.cpp         mortise/errors.hpp
src/table/lease.hpp             mortise/types.hpp
src/table/lock_table.hpp        segment/segment.hpp
src/store/table_lock_store.cpp  table/lock_table.hpp
src/store/open_store.cpp        store/store_url.hpp
src/store/redis/client.cpp      store/redis/pool.hpp
src/store/redis/reply.cpp       hiredis/read.h
src/store/sql/sqlite.cpp        sqlite3.h
src/store/sql/postgresql_connection.hpp libpq-fe.h
src/lock/lock.cpp               mortise/lock_store.hpp
src/inspect/inspect.cpp         store/store_url.hpp
tools/inspect-locks/main.cpp    mortise/inspect.hpp
tests/unit/table/lease_test.cpp table/lease.hpp
"""

FORBIDDEN = """
include/mortise/lock.hpp        table/lock_table.hpp
include/mortise/lock.hpp        boost/crc.hpp
src/sys/futex.hpp               mortise/types.hpp
src/contract/types.cpp          segment/segment.hpp
src/segment/segment.hpp         table/lease.hpp
src/segment/segment.hpp         mortise/types.hpp
src/table/lock_table.hpp        mortise/lock_store.hpp
src/table/lock_table.hpp        boost/crc.hpp
src/store/open_store.cpp        table/lock_table.hpp
src/store/table_lock_store.cpp  lock/renewer.hpp
src/store/redis/client.cpp      hiredis/read.h
src/store/redis/client.cpp      table/lock_table.hpp
src/store/sql/postgresql.cpp    libpq-fe.h
src/store/sql/sql_lock_store.cpp sqlite3.h
src/store/sql/sqlite.cpp        libpq-fe.h
src/lock/lock.cpp               table/lock_table.hpp
src/lock/lock.cpp               segment/segment.hpp
src/inspect/inspect.cpp         lock/renewer.hpp
src/inspect/inspect.cpp         store/table_lock_store_impl.hpp
tools/inspect-locks/main.cpp    table/lock_table.hpp
examples/first.cpp              sys/futex.hpp
bench/contention.cpp            table/lock_table.hpp
tests/conformance/suite.cpp     table/lock_table.hpp
src/unheard-of/new.cpp          mortise/types.hpp
"""


def judge(includer, included):
    """Whether check_includes complains of a tree in which `includer` includes `included`."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory).resolve()
        target = root / ("include" if included.startswith("mortise/") else "src") / included
        for path in (target, root / includer):
            path.parent.mkdir(parents=True, exist_ok=True)
        if included.endswith(".hpp") and not included.startswith("boost/"):
            target.touch()
        (root / includer).write_text(f'#pragma once\n#  include "{included}"\n')
        return any(path == includer for path, _, _ in check_includes.violations(root))


class CheckIncludesTest(unittest.TestCase):
    def test_allows(self):
        for case in ALLOWED.strip().splitlines():
            with self.subTest(case):
                self.assertFalse(judge(*case.split()))

    def test_forbids(self):
        for case in FORBIDDEN.strip().splitlines():
            with self.subTest(case):
                self.assertTrue(judge(*case.split()))


if __name__ == "__main__":
    unittest.main()
