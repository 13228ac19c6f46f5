// An authorization server that others wrote, with the pages that come with it: `node server.mjs http <port>`.

import Provider from 'oidc-provider';

const port = process.argv[3];

// What tokens for a server look like: signed, or, for addresses that end so, opaque.
const resource = (ctx, address) => ({
  scope: 'notes:read notes:write',
  audience: address,
  accessTokenTTL: 3,
  accessTokenFormat: address.endsWith('/opaque') ? 'opaque' : 'jwt',
  jwt: { sign: { alg: 'RS256' } },
});

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'machine',
      client_secret: 'a secret: of the machine',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    { client_id: 'notes', client_secret: 'a secret of the server', grant_types: [], redirect_uris: [], response_types: [] },
  ],
  scopes: ['offline_access', 'notes:read', 'notes:write'],
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  features: {
    registration: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true },
    resourceIndicators: { enabled: true, useGrantedResource: () => true, getResourceServerInfo: resource },
  },
});

for (const event of ['server_error', 'authorization.error', 'grant.error', 'registration_create.error', 'introspection.error']) {
  provider.on(event, (ctx, error) => console.log(event, error.error, error.error_description, error.error_detail ?? ''));
}

provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
