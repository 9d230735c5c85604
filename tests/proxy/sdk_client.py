"""An agent with an official SDK and nothing set but address and key, as a sandbox has them: says what the SDK did.

Run by the Python of that SDK's environment, with only the SDK and the standard library. Each line of standard input is
a JSON list of calls, made at the same time; the line written for it has the list of what came of them.
"""

import importlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

CLASSES = {"openai": "OpenAI", "anthropic": "Anthropic"}
METHODS = {"chat": "chat.completions.create", "responses": "responses.create", "messages": "messages.create"}


def ask(module, call):
    """Make one call and tell how long it took and what was raised: its class and those above it, and its text."""
    client = getattr(module, CLASSES[module.__name__])(api_key=call["key"], base_url=call["baseUrl"])
    create = reduce(getattr, METHODS[call["way"]].split("."), client)
    told = {"kinds": [], "text": "", "status": 200, "requestId": None}
    began = time.monotonic()
    try:
        answer = create(**call["arguments"])
        if call["arguments"].get("stream"):
            for _ in answer:
                pass
    except Exception as error:
        told["kinds"] = [one.__name__ for one in type(error).__mro__]
        told["text"] = str(error)
        told["status"] = getattr(error, "status_code", None)
        told["requestId"] = getattr(error, "request_id", None)
    return {**told, "seconds": time.monotonic() - began}


def main():
    """Answer line by line."""
    module = importlib.import_module(sys.argv[1])
    with ThreadPoolExecutor(8) as pool:
        for line in sys.stdin:
            calls = json.loads(line)
            print(json.dumps(list(pool.map(lambda call: ask(module, call), calls))), flush=True)


if __name__ == "__main__":
    main()
