"""opencode: has no hooks but plugins, so a small one asks ours; what it adds to a message stays with the session.

The plugin cannot tell a new session from one that is resumed. To memsync it says the latter: a session
that was never given anything is given what a new one is.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import ANY, Client, Entry, File, Home, Hook, flat

_PLUGIN: Final = """\
// memsync: gives opencode the memories of this project. `memsync uninstall` removes this file.
import { spawn } from "node:child_process"

const ask = (event, payload) =>
  new Promise((done) => {
    const child = spawn("memsync", ["hook", event, "--client", "opencode"], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: 5000,
    })
    let said = ""
    child.on("error", () => done("")) // memsync is not here: opencode goes on
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => (said += part))
    child.on("close", () => {
      try {
        done(JSON.parse(said).additionalContext ?? "")
      } catch {
        done("")
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })

export const Memsync = async ({ client, directory }) => {
  const begun = new Map() // id of a session -> by what memsync knows it
  const look = (call) => call.then((found) => found.data, () => undefined)
  const begin = async (id, about) => {
    const path = { id }
    const parent = (await look(client.session.get({ path })))?.parentID
    begun.set(id, parent ? { session_id: parent, agent_id: id } : { session_id: id })
    if (parent) return ask("subagent-start", { ...about, ...begun.get(id) })
    const said = JSON.stringify((await look(client.session.messages({ path }))) ?? []) // of a fork: what its parent was given
    const given = Array.from(said.matchAll(/- \\[([A-Za-z0-9-]{4,64})\\] (?!(?:(?!\\\\n).)*…\\\\n)/g), (found) => found[1])
    return ask("session-start", { ...about, ...begun.get(id), source: "resume", given })
  }
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const about = { cwd: directory, prompt_id: message.id }
      const typed = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = typed.map((part) => part.text).join("\\n")
      const first = begun.has(sessionID) ? "" : await begin(sessionID, about)
      const second = await ask("prompt", { ...about, ...begun.get(sessionID), prompt })
      const text = [first, second].filter(Boolean).join("\\n")
      if (!text || !parts.length) return
      const id = `${parts[parts.length - 1].id}m`
      parts.push({ id, sessionID, messageID: message.id, type: "text", synthetic: true, text })
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      if (["todowrite", "todoread", "task", "question"].includes(tool) || tool.startsWith("memsync")) return
      const about = { cwd: directory, ...(begun.get(sessionID) ?? { session_id: sessionID }), tool_use_id: callID }
      const said = { output: result.output, exit_code: result.metadata?.exit ?? 0 }
      const text = await ask("post-tool", { ...about, tool_name: tool, tool_input: args ?? {}, tool_response: said })
      if (text) result.output += `\\n\\n${text}`
    },
    event: async ({ event }) => {
      if (event.type !== "session.compacted") return
      const id = event.properties.sessionID
      await ask("post-compact", { cwd: directory, ...(begun.get(id) ?? { session_id: id }) })
    },
  }
}
"""

OPENCODE: Final = Client(
    name="opencode",
    title="opencode",
    variables=("OPENCODE",),
    home=Home(".config/opencode", "XDG_CONFIG_HOME", "opencode"),
    signs=(".opencode", "opencode.json", "opencode.jsonc"),
    hooks=(
        Hook("SessionStart", "session-start", 5),
        Hook("ChatMessage", "prompt", 5),
        Hook("SessionCompacted", "post-compact", 5),
        Hook("SubagentStart", "subagent-start", 5),
        Hook("ToolExecuteAfter", "post-tool", 5),
    ),
    files=(
        File(".opencode/plugins/memsync.js", "plugins/memsync.js", (Entry((), _PLUGIN, "hooks"),), form="text"),
        File(
            "opencode.json",
            "opencode.json",
            (
                Entry(
                    ("mcp", "memsync"), {"type": "local", "command": ["memsync", "mcp"], "enabled": True}, "MCP server"
                ),
            ),
            form="jsonc",
            base={"$schema": "https://opencode.ai/config.json"},  # which opencode adds at its first start
            also=("opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        ),
    ),
    after="start opencode here",
    lost={"post-compact": ANY},
    answer=flat,
)
