"""The client of FastMCP."""

import asyncio
import warnings

import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import listen

from life import live, show, wanted

warnings.simplefilter("ignore")


class Driven:
    def __init__(self, client, messages):
        self.client, self.messages = client, messages

    async def tools(self):
        return [tool.model_dump(mode="json", by_alias=True) for tool in await self.client.list_tools()]

    async def prompts(self):
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def resources(self):
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def templates(self):
        listed = await self.client.list_resource_templates()
        return [getattr(template, "uri_template", None) or template.uriTemplate for template in listed]

    async def read(self, uri):
        return (await self.client.read_resource(uri))[0].text

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments, raise_on_error=False)
        text = result.content[0].text
        return {"structured": result.structured_content, "isError": result.is_error, "text": text}

    async def fails(self, doing):
        try:
            await doing
        except Exception as error:  # FastMCP wraps what it gets.
            inner = getattr(error, "error", None)
            return getattr(inner, "code", None) or str(error)
        return None

    def subscribable(self, mode):
        capabilities = self.client.session.server_capabilities
        resources = capabilities and capabilities.resources
        return mode != "legacy" or bool(resources and resources.subscribe)

    async def updated(self, mode, uri, change):
        if mode == "legacy":
            await self.client.session.subscribe_resource(uri)
            await change
            while True:
                message = await self.messages.get()
                if isinstance(message, types.ResourceUpdatedNotification):
                    return str(message.params.uri)
        async with listen(self.client.session, resource_subscriptions=[uri]) as subscription:
            await change
            async for event in subscription:
                return str(event.uri)


async def main():
    task = wanted()
    messages, elicited = asyncio.Queue(), []

    async def answer(message, _type, _params, _context):
        elicited.append(message)
        return {"answer": "8443"}

    async def keep(message):
        await messages.put(message)

    if "url" in task:
        server = StreamableHttpTransport(task["url"], headers=task["headers"])
    else:
        command, *args = task["command"]
        server = StdioTransport(command, args, cwd=task["cwd"], env=task["env"])
    options = {"mode": task["mode"], "elicitation_handler": answer, "message_handler": keep}
    async with Client(server, **options) as client:
        seen = await live(Driven(client, messages), task["mode"], task["question"], elicited)
        show(seen)


asyncio.run(asyncio.wait_for(main(), 60))
