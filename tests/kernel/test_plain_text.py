"""The plain text of HTML."""

from __future__ import annotations

from time import process_time

import pytest

from kernel.plain_text import plain_text


@pytest.mark.parametrize(
    "html, text",
    [
        ("", ""),
        ("Caneca de ágata", "Caneca de ágata"),
        ("1 < 2 &amp; 3 &gt; 2", "1 < 2 & 3 > 2"),
        ("<p>Feita à m&atilde;o.</p><p>Azul&nbsp;claro</p>", "Feita à mão.\nAzul claro"),
        ("<p>Uma\n  linha</p>\n\n<p>outra</p>", "Uma linha\noutra"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>um</li><li>dois</li></ul>", "um\ndois"),
        ("<b>ne</b><i>grito</i> e <a href='x'>link</a>", "negrito e link"),
        ('<a title="5 > 3">x</a>', "x"),
        ("a<!-- <p>b</p> -->c", "ac"),
        ("a<script>if (1 < 2) alert('</p>')</script>b<style>p{}</style>c", "abc"),
        ("<SCRIPT>x</SCRIPT >y", "y"),
        ("a <!-- open", "a"),
        ("a <script>open", "a"),
        ("a <p class='open", "a"),
        ("&lt;script&gt;x&lt;/script&gt;", "<script>x</script>"),
        ("<!DOCTYPE html><?xml?>x", "x"),
        ("I <3 you", "I <3 you"),
    ],
)
def test_what_a_reader_sees_is_left(html: str, text: str) -> None:
    assert plain_text(html) == text


@pytest.mark.parametrize(
    "part", ["<!--", "<script", "<p ", "<p '", '<p "', "</", "<", "&", "<script>x</script", "<!", "<a b='c"]
)
def test_the_time_grows_with_the_length_alone(part: str) -> None:
    started = process_time()
    plain_text(part * (400_000 // len(part)))
    assert process_time() - started < 3
