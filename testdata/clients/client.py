"""Drives the server given as the argument with Python's client, and prints what it saw as JSON."""

import base64
import json
import sys
import time

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    server = StdioServerParameters(command=sys.argv[1])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        report = {"server": (await session.initialize()).server_info.name}
        report["tools"] = sorted(tool.name for tool in (await session.list_tools()).tools)

        async def run(code, progress=None):
            return await session.call_tool("execute_code", {"code": code}, progress_callback=progress)

        printed = await run("print(6 * 7)")
        report["stdout"] = json.loads(printed.content[-1].text)["stdout"]

        plotted = await run("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()")
        report["blocks"] = [getattr(block, "mime_type", None) or block.type for block in plotted.content]
        report["signature"] = base64.b64decode(plotted.content[0].data)[1:4].decode()

        # The SDK sends notifications/cancelled when the scope around a call is cancelled.
        began = time.monotonic()
        with anyio.CancelScope() as scope:

            async def stop(*_):
                scope.cancel()

            await run("print('started', flush=True)\nwhile True: pass", stop)
        report["cancelled"] = scope.cancelled_caught and time.monotonic() - began < 10
        report["after"] = json.loads((await run("print('alive')")).content[-1].text)["stdout"]
    print(json.dumps(report))


anyio.run(main)
