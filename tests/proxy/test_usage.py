"""Usage out of answers: every documented format, cut at every byte, and answers that are broken or lie."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.proxy import sse, usage
from sandbox_components.proxy.counts import Usage, usage_of
from sandbox_components.proxy.usage import UsageReader
from tests.proxy import streams
from tests.proxy.streams import ANSWERS, STREAMS, Answer


def read(answer: Answer, *chunks: bytes) -> tuple[UsageReader, Usage | None, bytes]:
    reader = UsageReader(answer.endpoint)
    passed = b"".join([*map(reader.feed, chunks), reader.rest()])
    return reader, reader.finish(), passed


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_tells(name: str) -> None:
    answer = ANSWERS[name]
    reader, seen, passed = read(answer, answer.body)
    assert seen == answer.usage
    assert passed == answer.body
    assert (reader.is_complete, reader.failed, reader.has_output) == (
        answer.is_complete,
        answer.failed,
        answer.has_output,
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_cut_at_every_byte(name: str) -> None:
    answer = ANSWERS[name]
    whole = answer.body
    for cut in range(1, len(whole)):
        reader, seen, passed = read(answer, whole[:cut], whole[cut:])
        assert (seen, reader.is_complete, reader.failed, reader.has_output) == (
            answer.usage,
            answer.is_complete,
            answer.failed,
            answer.has_output,
        ), cut
        assert passed == whole


@pytest.mark.parametrize("name", ANSWERS)
def test_byte_by_byte(name: str) -> None:
    answer = ANSWERS[name]
    reader, seen, passed = read(answer, *(bytes([byte]) for byte in answer.body))
    assert seen == answer.usage
    assert passed == answer.body
    assert reader.is_complete == answer.is_complete


def test_bytes_pass_at_once_when_nothing_is_taken_out() -> None:
    reader = UsageReader("messages")
    assert reader.feed(b"eve") == b"eve"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_chunk_that_only_we_wished_for_is_taken_out_again(end: bytes) -> None:
    assert streams.CHAT.stripped is not None
    whole, wanted = (text.replace(b"\n", end) for text in (streams.CHAT.body, streams.CHAT.stripped))
    for cut in range(len(whole)):
        reader = UsageReader("chat.completions", strips_usage=True)
        passed = reader.feed(whole[:cut]) + reader.feed(whole[cut:]) + reader.rest()
        assert passed == wanted, cut
        assert reader.finish() == streams.CHAT_SEEN


def test_only_that_chunk_is_taken_out() -> None:
    with_choices = streams.CHAT_RUNNING_COUNTS.body.split(b"\n\n")
    reader = UsageReader("chat.completions", strips_usage=True)
    passed = reader.feed(streams.CHAT_RUNNING_COUNTS.body) + reader.rest()
    assert passed == b"\n\n".join([*with_choices[:2], *with_choices[3:]])


@pytest.mark.parametrize("name", STREAMS)
def test_all_else_passes_a_reader_that_takes_out_usage(name: str) -> None:
    answer = STREAMS[name]
    if answer.endpoint == "chat.completions":
        return
    reader = UsageReader(answer.endpoint, strips_usage=True)
    assert reader.feed(answer.body) + reader.rest() == answer.body


@pytest.mark.parametrize("answer", [streams.CHAT, streams.MESSAGES, streams.RESPONSES], ids=lambda one: one.endpoint)
def test_a_stream_that_breaks_off_is_never_taken_for_complete(answer: Answer) -> None:
    last_word = answer.body.index(
        {"messages": b'"end_turn"', "responses": b"response.completed"}.get(answer.endpoint, b'"usage":{')
    )
    for cut in range(last_word):
        reader, _, _ = read(answer, answer.body[:cut])
        assert not reader.is_complete


def test_counts_told_all_along_are_complete_only_with_the_last() -> None:
    answer = streams.CHAT_RUNNING_COUNTS
    running = answer.body[: answer.body.index(b'"choices":[]')].rpartition(b"data:")[0]
    for cut in range(len(running)):
        reader, _, _ = read(answer, running[:cut])
        assert not reader.is_complete
    stops = running.partition(b"\n\n")[0].replace(b'{"content":"a"}', b'{},"finish_reason":"stop"') + b"\n\n"
    for end in (b"data: [DONE]\n\n", stops):
        reader, _, _ = read(answer, running, end)
        assert reader.is_complete


@given(st.binary(max_size=300), st.integers(0, 300), st.sampled_from(["chat.completions", "responses", "messages"]))
def test_any_bytes_pass_unharmed(noise: bytes, cut: int, endpoint: str) -> None:
    for strips in (False, True):
        reader = UsageReader(endpoint, strips)
        assert reader.feed(noise[:cut]) + reader.feed(noise[cut:]) + reader.rest() == noise
        reader.finish()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["usage", "type", "response", "message", "delta", "choices", "error"]), inner)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["chat.completions", "responses", "messages", "embeddings"]))
def test_any_json_is_read_without_a_fault(document: Any, endpoint: str) -> None:
    text = json.dumps(document).encode()
    for body in (text, b"data: " + text + b"\n\n"):
        reader = UsageReader(endpoint)
        assert reader.feed(body) == body
        seen = reader.finish()
        assert seen is None or seen.problem or reader.is_complete or endpoint == "messages" or endpoint == "responses"


def test_a_usage_that_comes_as_json_where_a_stream_was_asked_for() -> None:
    reader, seen, _ = read(streams.CHAT, b"  \n", streams.CHAT_DOCUMENT.body)
    assert seen == streams.CHAT_DOCUMENT.usage
    assert reader.is_complete


def test_an_error_document_is_no_output() -> None:
    reader, seen, _ = read(streams.CHAT_DOCUMENT, b'{"error": {"message": "no"}}')
    assert seen is None
    assert (reader.failed, reader.has_output) == (True, False)


@pytest.mark.parametrize("broken", [b"<html>", b"{", b"[1,2", b"data: {\n\n", b"{" * 200_000, b'{"usage":'])
def test_broken_answers_tell_nothing_and_count_as_output(broken: bytes) -> None:
    reader = UsageReader("chat.completions")
    assert reader.feed(broken) == broken
    assert reader.finish() is None
    assert not reader.is_complete


def test_an_empty_answer_tells_nothing() -> None:
    reader = UsageReader("responses")
    assert reader.feed(b"") == b""
    assert reader.finish() is None
    assert not reader.has_output


@pytest.mark.parametrize(
    ("endpoint", "fields", "told"),
    [
        ("chat.completions", {"prompt_tokens": 1}, "completion_tokens is missing"),
        ("chat.completions", {"completion_tokens": 1}, "prompt_tokens is missing"),
        ("chat.completions", {"prompt_tokens": -1, "completion_tokens": 1}, "prompt_tokens is not a count"),
        ("chat.completions", {"prompt_tokens": True, "completion_tokens": 1}, "prompt_tokens is not a count"),
        ("chat.completions", {"prompt_tokens": "7", "completion_tokens": 1}, "prompt_tokens is not a count"),
        ("chat.completions", {"prompt_tokens": 1.5, "completion_tokens": 1}, "prompt_tokens is not a count"),
        ("chat.completions", {"prompt_tokens": 10**30, "completion_tokens": 1}, "prompt_tokens is not a count"),
        (
            "chat.completions",
            {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details.cached_tokens": 6},
            "more than the whole",
        ),
        (
            "chat.completions",
            {"prompt_tokens": 5, "completion_tokens": 1, "completion_tokens_details.audio_tokens": 2},
            "more than the whole",
        ),
        (
            "responses",
            {
                "input_tokens": 5,
                "output_tokens": 1,
                "input_tokens_details.cache_write_tokens_details.ttl_12h_tokens": 5,
            },
            "12 hours",
        ),
        ("embeddings", {"total_tokens": 4}, "prompt_tokens is missing"),
        ("messages", {"output_tokens": 4}, "input_tokens is missing"),
        ("messages", {"input_tokens": 4}, "output_tokens is missing"),
    ],
)
def test_counts_that_cannot_be_right_are_never_priced(endpoint: str, fields: dict[str, Any], told: str) -> None:
    assert told in usage_of(endpoint, fields).problem


def test_work_beside_the_totals_has_no_price() -> None:
    body = json.loads(streams.MESSAGES_DOCUMENT.body)
    body["usage"]["iterations"] = [{"type": "message", "input_tokens": 1}, {"type": "compaction", "input_tokens": 9}]
    _, seen, _ = read(streams.MESSAGES_DOCUMENT, json.dumps(body).encode())
    assert seen is not None
    assert "iterations" in seen.problem


def test_whole_floats_are_counts() -> None:
    assert usage_of("embeddings", {"prompt_tokens": 12.0}) == Usage(12)


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT", 1000)
    for strips in (False, True):
        reader = UsageReader("chat.completions", strips)
        passed = [reader.feed(b"data: " + b"x" * 900), reader.feed(b"y" * 900), reader.feed(streams.CHAT.body)]
        assert b"".join([*passed, reader.rest()]) == b"data: " + b"x" * 900 + b"y" * 900 + streams.CHAT.body
        assert reader.finish() is None
        assert reader.has_output
        assert not reader.is_complete


def test_a_document_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "LARGEST_DOCUMENT", 100)
    reader = UsageReader("chat.completions")
    reader.feed(streams.CHAT_DOCUMENT.body)
    assert reader.finish() is None
    assert reader.has_output
