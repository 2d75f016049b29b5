"""The official Python client."""

import asyncio
import warnings

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from life import live, show, wanted

warnings.simplefilter("ignore")


class Driven:
    def __init__(self, client, messages):
        self.client, self.messages = client, messages

    async def tools(self):
        return [tool.model_dump(mode="json", by_alias=True) for tool in (await self.client.list_tools()).tools]

    async def prompts(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def resources(self):
        return [resource.uri for resource in (await self.client.list_resources()).resources]

    async def templates(self):
        listed = await self.client.list_resource_templates()
        return [template.uri_template for template in listed.resource_templates]

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments)
        text = result.content[0].text
        return {"structured": result.structured_content, "isError": result.is_error, "text": text}

    async def fails(self, doing):
        try:
            await doing
        except MCPError as error:
            return error.error.code
        return None

    def subscribable(self, mode):
        resources = self.client.server_capabilities.resources
        return mode != "legacy" or bool(resources and resources.subscribe)

    async def updated(self, mode, uri, change):
        if mode == "legacy":
            await self.client.subscribe_resource(uri)
            await change
            while True:
                message = await self.messages.get()
                if isinstance(message, types.ResourceUpdatedNotification):
                    return str(message.params.uri)
        async with self.client.listen(resource_subscriptions=[uri]) as subscription:
            await change
            async for event in subscription:
                return str(event.uri)


async def main():
    task = wanted()
    messages, elicited = asyncio.Queue(), []

    async def answer(_context, params):
        elicited.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "8443"})

    async def keep(message):
        await messages.put(message)

    if "url" in task:
        http = httpx2.AsyncClient(headers=task["headers"], timeout=30)
        server = streamable_http_client(task["url"], http_client=http)
    else:
        command, *args = task["command"]
        server = StdioServerParameters(command=command, args=args, cwd=task["cwd"], env=task["env"])
    options = {"mode": task["mode"], "elicitation_callback": answer, "message_handler": keep}
    async with Client(server, **options) as client:
        seen = await live(Driven(client, messages), task["mode"], task["question"], elicited)
        seen["version"] = client.protocol_version
        show(seen)


asyncio.run(asyncio.wait_for(main(), 60))
