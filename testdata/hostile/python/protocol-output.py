# Writes what looks like the protocol between client and server.
# want: exit 0
# want: stdout {"jsonrpc":"2.0","id":1,"result":{}}\nContent-Length: 5

print('{"jsonrpc":"2.0","id":1,"result":{}}')
print("Content-Length: 5")
