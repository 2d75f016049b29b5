// punchlist: tells opencode's model about its work, and sends it on while its list is open.
// Written by `punch init`; `punch init --host opencode --remove` removes it.
import { spawn } from "node:child_process"

const PUNCH = ["punch"]

// Asks `punch hook`. Whatever goes wrong, the answer is: nothing.
function ask(event, payload, cwd) {
  return new Promise((resolve) => {
    const words = [...PUNCH.slice(1), "hook", "opencode", event]
    const child = spawn(PUNCH[0], words, { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), 10000)
    let text = ""
    child.stdout.on("data", (part) => (text += part))
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(text))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify({ cwd, ...payload }))
  })
}

const CHANGING = ["edit", "write", "patch", "multiedit", "bash"]

export const Punchlist = async ({ client, directory }) => {
  const sessions = new Map()
  const known = (id) => {
    if (!sessions.has(id)) sessions.set(id, { text: undefined, changed: false, own: 0, busy: false })
    return sessions.get(id)
  }
  const lastOf = async (id) => {
    const found = await client.session.messages({ path: { id } }).catch(() => undefined)
    const messages = found?.data ?? []
    const last = messages.filter((message) => message.info.role === "assistant").at(-1)
    const text = (last?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
    return { text: text.join("\n"), turn: last?.info?.id, error: last?.info?.error?.name, agent: last?.info?.mode }
  }
  const stopped = async (id) => {
    const session = known(id)
    if (session.busy) return
    session.busy = true
    try {
      const last = await lastOf(id)
      const payload = {
        sessionId: id,
        turn_id: last.turn,
        lastText: last.text,
        agent: last.agent,
        changed: session.changed,
        interrupted: last.error !== undefined,
      }
      session.changed = false
      const answer = await ask("stop", payload, directory)
      if (answer.answer !== "continue" || !answer.text) return
      session.own += 1
      const body = { parts: [{ type: "text", text: answer.text, synthetic: true }] }
      await client.session.promptAsync({ path: { id }, body })
    } finally {
      session.busy = false
    }
  }
  const starts = async (id, source) => {
    const answer = await ask("session-start", { sessionId: id, source }, directory)
    known(id).text = answer.text
  }
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const id = event.properties?.sessionID ?? info?.id
      if (!id) return
      if (event.type === "session.created" && !info?.parentID) await starts(id, "startup")
      if (event.type === "session.status" && event.properties.status?.type === "idle") await stopped(id)
      if (event.type === "session.deleted") {
        await ask("session-end", { sessionId: id }, directory)
        sessions.delete(id)
      }
      if (event.type === "todo.updated") {
        await ask("todos", { sessionId: id, todos: event.properties.todos }, directory)
      }
    },
    "chat.message": async (input) => {
      const session = known(input.sessionID)
      if (session.own > 0) {
        session.own -= 1
        return
      }
      if (session.text === undefined) await starts(input.sessionID, "startup")
      const payload = { sessionId: input.sessionID, turn_id: input.messageID, agent: input.agent }
      const answer = await ask("prompt", payload, directory)
      if (answer.text) session.text = [session.text, answer.text].filter(Boolean).join("\n")
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = input.sessionID && sessions.get(input.sessionID)?.text
      if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input, output) => {
      await starts(input.sessionID, "compact")
      const text = known(input.sessionID).text
      if (text) output.context.push(text)
    },
    "tool.execute.after": async (input) => {
      if (CHANGING.includes(input.tool)) known(input.sessionID).changed = true
    },
    "shell.env": async (input, output) => {
      if (input.sessionID) output.env.PUNCHLIST_SESSION = input.sessionID
    },
  }
}
