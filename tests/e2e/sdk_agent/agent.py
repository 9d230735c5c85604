"""An agent that counts and calls a model by an official SDK, streaming; what a refusal does to it is on its disk.

It calls again a second after a refusal, and counts on meanwhile.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path

ROOM = Path("/workspace")
WISH = json.dumps({"double": {"output": int(sys.argv[2])}})


def asked() -> str:
    """Call the model once and return what it said."""
    messages = [{"role": "user", "content": WISH}]
    if sys.argv[1] == "openai":
        stream = client.chat.completions.create(
            model="gpt-4o-mini", messages=messages, max_tokens=int(sys.argv[2]), stream=True
        )
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    with client.messages.stream(model="claude-sonnet-4-5", messages=messages, max_tokens=int(sys.argv[2])) as stream:
        return "".join(stream.text_stream)


def attempt() -> bool:
    """Call once, write down how it ended, and tell whether the model answered."""
    told: dict[str, object] = {"began": time.time()}
    try:
        told["answer"] = asked()
    except sdk.APIError as error:
        told |= {"error": type(error).__name__, "is_rate_limit": isinstance(error, sdk.RateLimitError)}
        told |= {"message": str(error), "request": getattr(error, "request_id", None)}
    told["ended"] = time.time()
    with (ROOM / "attempts").open("a") as file:
        print(json.dumps(told), file=file)
    return "answer" in told


with (ROOM / "starts").open("a") as starts:
    print(os.uname().nodename, file=starts)
sdk = importlib.import_module(sys.argv[1])
client = getattr(sdk, {"openai": "OpenAI", "anthropic": "Anthropic"}[sys.argv[1]])()
file, again = ROOM / "step", 0.0
step = int(file.read_text()) if file.exists() else 0
while True:
    step += 1
    file.with_suffix(".new").write_text(str(step))
    file.with_suffix(".new").rename(file)
    if time.monotonic() >= again and not attempt():
        again = time.monotonic() + 1
    time.sleep(0.2)
