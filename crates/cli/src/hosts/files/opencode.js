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

// The words for an error of the model's service that `punch hook` knows.
function failure(error) {
  const status = error.data?.statusCode ?? 0
  if (error.name === "ProviderAuthError" || status === 401 || status === 403) return "authentication_failed"
  if (error.name === "MessageOutputLengthError") return "max_output_tokens"
  if (status === 429) return "rate_limit"
  if (status === 503 || status === 529) return "overloaded"
  if (status >= 500) return "server_error"
  return status >= 400 ? "invalid_request" : "unknown"
}

export const Punchlist = async ({ client, directory }) => {
  const sessions = new Map()
  // A session and its parent; a session with a parent is a subagent's.
  const known = async (id, info) => {
    if (!sessions.has(id)) {
      const found = info ?? client.session.get({ path: { id } }).then((got) => got.data, () => undefined)
      sessions.set(id, { found, text: undefined, changed: false, own: 0, busy: false })
    }
    const session = sessions.get(id)
    const found = await session.found
    session.parent = found?.parentID
    session.version = found?.version
    return session
  }
  const rootOf = async (id) => {
    const { parent } = await known(id)
    return parent ? rootOf(parent) : id
  }
  const lastOf = async (id) => {
    const found = await client.session.messages({ path: { id } }).catch(() => undefined)
    const messages = found?.data ?? []
    const last = messages.filter((message) => message.info.role === "assistant").at(-1)
    const text = (last?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
    return { text: text.join("\n"), turn: last?.info?.id, error: last?.info?.error, agent: last?.info?.mode }
  }
  const stopped = async (id) => {
    const session = await known(id)
    if (session.parent) {
      await ask("subagent-stop", { sessionId: await rootOf(id), agent_id: id }, directory)
      return
    }
    if (session.busy) return
    session.busy = true
    try {
      const last = await lastOf(id)
      const error = session.error ?? last.error
      const interrupted = error?.name === "MessageAbortedError"
      if (error && !interrupted) {
        // A failed session becomes idle twice.
        if (session.failed) return
        session.failed = true
        const payload = { sessionId: id, turn_id: last.turn, error: failure(error) }
        await ask("stop-failure", payload, directory)
        return
      }
      const payload = {
        sessionId: id,
        turn_id: last.turn,
        lastText: last.text,
        agent: last.agent,
        changed: session.changed,
        interrupted,
      }
      session.changed = false
      const answer = await ask("stop", payload, directory)
      if (answer.answer !== "continue" || !answer.text) return
      session.own += 1
      const body = { parts: [{ type: "text", text: answer.text, synthetic: true }] }
      await client.session.promptAsync({ path: { id }, body }).catch(() => (session.own -= 1))
    } finally {
      session.busy = false
    }
  }
  // A subagent keeps no list and adopts no issue: it is told what its parent works on.
  const starts = async (id, source) => {
    const session = await known(id)
    const answer = session.parent
      ? await ask("subagent-start", { sessionId: await rootOf(id), agent_id: id }, directory)
      : await ask("session-start", { sessionId: id, source, version: session.version }, directory)
    session.text = answer.text ?? ""
  }
  const started = async (id) => {
    const session = await known(id)
    session.started ??= starts(id, "startup")
    await session.started
    return session
  }
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const id = event.properties?.sessionID ?? info?.id
      if (!id) return
      // The message gets its error only after the session is idle.
      if (event.type === "session.error" && sessions.has(id)) sessions.get(id).error = event.properties.error
      if (event.type === "session.created") {
        await known(id, info)
        await started(id)
      }
      if (event.type === "session.status" && event.properties.status?.type === "idle") await stopped(id)
      if (event.type === "session.deleted") {
        const isRoot = !(await known(id)).parent
        if (isRoot) await ask("session-end", { sessionId: id }, directory)
        sessions.delete(id)
      }
      if (event.type === "todo.updated" && !(await known(id)).parent) {
        await ask("todos", { sessionId: id, todos: event.properties.todos }, directory)
      }
    },
    "chat.message": async (input, output) => {
      const session = await started(input.sessionID)
      if (session.parent) return
      session.error = undefined
      session.failed = false
      if (session.own > 0) {
        session.own -= 1
        return
      }
      const said = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = said.map((part) => part.text).join(" ")
      const payload = { sessionId: input.sessionID, turn_id: input.messageID, agent: input.agent, prompt }
      const answer = await ask("prompt", payload, directory)
      if (answer.text) session.text = [session.text, answer.text].filter(Boolean).join("\n")
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = input.sessionID && sessions.get(input.sessionID)?.text
      if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input, output) => {
      await starts(input.sessionID, "compact")
      const text = (await known(input.sessionID)).text
      if (text) output.context.push(text)
    },
    "tool.execute.after": async (input) => {
      if (!CHANGING.includes(input.tool)) return
      const root = await known(await rootOf(input.sessionID))
      root.changed = true
    },
    "shell.env": async (input, output) => {
      if (input.sessionID) output.env.PUNCHLIST_SESSION = await rootOf(input.sessionID)
    },
  }
}
