#!/usr/bin/env bash
# Installs the MCP clients that the tests drive the server with, into testdata/clients: the TypeScript
# SDK from npm and the Python SDK from PyPI. Nothing is installed outside of that directory.
set -euo pipefail
cd "$(dirname "$0")/../testdata/clients"

if [ ! -d node_modules/@modelcontextprotocol/sdk ]; then
	echo "setup: npm ci in testdata/clients, for the client of the TypeScript SDK"
	npm ci --no-audit --no-fund --loglevel=error
fi
if ! venv/bin/python -c 'import mcp' 2>/dev/null; then
	echo "setup: pip install in testdata/clients/venv, for Python's client"
	/usr/bin/python3 -m venv venv
	venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
fi
echo "setup: the clients are installed"
