"""What every Python client does with a server: lists, calls, reads, prompts, subscribes, answers.

The clients differ in names only, so each gives this file the same few functions. Prints one line of
JSON with what it saw; the Rust test judges it.
"""

import json
import sys


def wanted():
    """The task: {"mode", "command"?, "cwd"?, "env"?, "url"?, "headers"?, "question"}."""
    return json.loads(sys.argv[1])


async def live(client, mode, question, elicited):
    """Drives a connected client; gives what it saw."""
    seen = {"tools": await client.tools(), "prompts": await client.prompts()}
    made = await client.call("issue", {"action": "create", "title": f"Live: {question}"})
    number = made["structured"]["issue"]["number"]
    uri = f"punchlist://test/issue/{number}"
    seen["uri"] = uri
    seen["listed"] = uri in await client.resources()
    seen["templates"] = await client.templates()
    seen["read"] = await client.read(uri)
    seen["unknown"] = await client.fails(client.read("punchlist://test/issue/999999"))
    seen["prompt"] = await client.prompt("next", {"issue": str(number)})
    seen["refused"] = await client.call("todo", {"action": "done"})
    seen["subscribable"] = client.subscribable(mode)
    if seen["subscribable"]:
        comment = client.call("issue", {"action": "comment", "number": number, "text": "seen"})
        seen["updated"] = await client.updated(mode, uri, comment)
    asked = await client.call("ask", {"question": question, "options": ["8080", "8443"]})
    seen["asked"] = asked["structured"]
    seen["elicited"] = elicited
    return seen


def show(seen):
    print(json.dumps(seen, default=str))
