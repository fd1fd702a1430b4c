"""The bounded cache that all caches of a process use."""

from __future__ import annotations

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
