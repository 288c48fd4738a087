// A provider of OpenID Connect as a process: npm's oidc-provider, told by the JSON file in argv[3] who there is and what it signs.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , library, told] = process.argv;
const { Provider, errors } = await import(pathToFileURL(library).href);
const settings = JSON.parse(readFileSync(told));
const now = () => JSON.parse(readFileSync(told)); // read at each question, as groups and times change

const provider = new Provider(settings.issuer, {
  clients: settings.clients,
  jwks: settings.jwks,
  cookies: { keys: ["of a test"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
  conformIdTokenClaims: Boolean(settings.only_userinfo),
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, ...now().accounts[id] }),
  }),
  extraTokenClaims: (_, token) => ({ ...now().accounts[token.accountId] }),
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => {
        if (!settings.resources.includes(resource)) throw new errors.InvalidTarget();
        return { scope: "openid", audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
      },
    },
  },
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
  formats: { customizers: { jwt: (_, token, parts) => void Object.assign(parts.payload, now().spoil) } },
  ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, RefreshToken: 3600, Interaction: 600, Session: 3600, Grant: 3600 },
  pkce: { required: () => true },
});
const url = new URL(settings.issuer);
provider.listen(Number(url.port), url.hostname, () => console.log("ready"));
