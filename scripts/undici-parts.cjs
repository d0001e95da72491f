/**
 * What the operator's sources use of undici, for the bundle. undici's own entry also loads fetch, WebSockets, mocks and
 * caches, which costs every start time and memory. A file that undici has moved fails the build.
 */
const { parseURL } = require("undici/lib/core/util.js");
const request = require("undici/lib/api/api-request.js");

exports.buildConnector = require("undici/lib/core/connect.js");
exports.Agent = require("undici/lib/dispatcher/agent.js");
exports.Pool = require("undici/lib/dispatcher/pool.js");
exports.ProxyAgent = require("undici/lib/dispatcher/proxy-agent.js");

/** As undici's own for a URL and a dispatcher. */
exports.request = (address, { dispatcher, ...options }) => {
  const { origin, pathname, search } = parseURL(address);
  return request.call(dispatcher, { ...options, origin, path: `${pathname}${search}` });
};
