"""The bounded cache that all caches of a process use."""

from __future__ import annotations

import asyncio

from kernel.cache import BoundedCache


def test_the_entry_used_least_recently_is_evicted() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.keep("a", 1)
    cache.keep("b", 2)
    assert cache.find("a") == 1
    cache.keep("c", 3)
    assert cache.items() == [("a", 1), ("c", 3)]


def test_the_weight_of_all_values_stays_below_the_limit() -> None:
    cache: BoundedCache[str, str] = BoundedCache(max_weight=10, weigh=len)
    for key, value in (("a", "1234"), ("b", "1234"), ("c", "1234")):
        cache.keep(key, value)
    assert (list(cache), cache.weight) == (["b", "c"], 8)
    cache.keep("b", "1")
    assert cache.weight == 5
    cache.drop("c")
    assert cache.weight == 1


def test_a_value_heavier_than_the_limit_is_not_kept_and_evicts_nothing_else() -> None:
    cache: BoundedCache[str, str] = BoundedCache(max_weight=10, weigh=len)
    cache.keep("a", "1234")
    cache.keep("b", "small")
    cache.keep("b", "longer than ten")
    assert (cache.items(), cache.weight) == ([("a", "1234")], 4)


def test_evicted_replaced_and_dropped_entries_are_reported() -> None:
    dropped: list[tuple[str, int]] = []
    cache: BoundedCache[str, int] = BoundedCache(1, on_drop=lambda key, value: dropped.append((key, value)))
    cache.keep("a", 1)
    cache.keep("a", 2)
    cache.keep("b", 3)
    cache.drop("b")
    cache.drop("unknown")
    assert dropped == [("a", 1), ("a", 2), ("b", 3)]


def test_an_address_that_adds_many_entries_loses_its_own_beyond_an_eighth_of_a_full_cache() -> None:
    cache: BoundedCache[str, int] = BoundedCache(80)
    for number in range(70):
        cache.keep(f"other {number}", 1, "ip:1")
    for number in range(200):
        cache.keep(f"hostile {number}", 1, "ip:2")
    assert sum(key.startswith("other") for key in cache) == 70
    assert [key for key in cache if key.startswith("hostile")] == [f"hostile {number}" for number in range(190, 200)]


def test_an_address_that_fills_the_cache_makes_place_for_others() -> None:
    cache: BoundedCache[str, str] = BoundedCache(max_weight=100, weigh=len)
    cache.keep("first", "x", "ip:1")
    for number in range(300):
        cache.keep(f"hostile {number}", "x", "ip:2")
    assert cache.find("first") == "x"
    for number in range(10):
        cache.keep(f"other {number}", "xxxxx", f"ip:{number + 10}")
        cache.keep(f"hostile again {number}", "x", "ip:2")
    assert cache.find("first") == "x"
    assert sum(key.startswith("other") for key in cache) == 10
    assert cache.weight == 100


async def test_what_several_callers_look_for_at_once_is_made_once() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    may_end = asyncio.Event()
    made: list[str] = []

    async def make() -> int:
        made.append("a")
        await may_end.wait()
        if len(made) == 1:
            raise ValueError("the first fails")
        cache.keep("a", 7)
        return 7

    tasks = [asyncio.ensure_future(cache.find_or_make("a", make)) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    may_end.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in results] == [ValueError, asyncio.CancelledError, int, int]
    assert made == ["a", "a"]
