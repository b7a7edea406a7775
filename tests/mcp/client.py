#!/usr/bin/env python3
"""Calls tools of `tyrion mcp` with the protocol's own client.

  tests/mcp/client.py TYRION [OPTION...] <CALLS

CALLS is a JSON list of [tool, arguments]. Prints a JSON object: `server`, `tools` as listed, and
`results`, one for each call, with `isError`, `structuredContent` and `text`. The client itself
compares each result with the schema that its tool has. Needs tests/setup/wheels.sh.
"""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "target/mcp"))

from mcp import ClientSession, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answers(command, options, calls):
    """What the server says of itself, its tools, and of these calls."""
    server = StdioServerParameters(command=command, args=["mcp", *options])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeting = plain(await session.initialize())
        tools = plain(await session.list_tools())["tools"]
        results = []
        for tool, arguments in calls:
            try:
                result = plain(await session.call_tool(tool, arguments))
            except Exception as problem:  # What the client makes of a refusal.
                results.append({"refused": f"{type(problem).__name__}: {problem}"})
                continue
            texts = [part.get("text", "") for part in result.get("content", [])]
            results.append({"isError": result.get("isError", False),
                            "structuredContent": result.get("structuredContent"),
                            "text": "\n".join(texts)})
        return {"server": greeting, "tools": tools, "results": results}


def main():
    command, *options = sys.argv[1:]
    calls = json.load(sys.stdin)
    print(json.dumps(asyncio.run(answers(command, options, calls)), indent=1))


if __name__ == "__main__":
    main()
