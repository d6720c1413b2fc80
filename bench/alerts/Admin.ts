// What the benchmark asks of the service as its administrator.
import { adminPassword } from "../Service.ts"

export class Admin {
  private readonly origin: string
  private token = ""

  constructor(port: number) {
    this.origin = `http://127.0.0.1:${port}`
  }

  async call(method: string, path: string, body?: unknown): Promise<Response> {
    const answer = await fetch(`${this.origin}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status} ${await answer.text()}`)
    return answer
  }

  async signIn(): Promise<void> {
    const answer = await this.call("POST", "/api/auth/login", { password: adminPassword, persistence: "session" })
    this.token = ((await answer.json()) as { access_token: string }).access_token
  }

  /** A webhook channel; its id. */
  async channel(name: string, url: string): Promise<number> {
    const config = { url, headers: {} }
    const answer = await this.call("POST", "/api/admin/alerts/channels/", {
      name,
      type: "webhook",
      config,
      enabled: true
    })
    return Number(answer.headers.get("location")?.split("/").at(-1))
  }
}
