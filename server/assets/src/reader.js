// The viewer of the OpenAPI documents, at /api/docs.
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-bundle.js";
import SwaggerUIStandalonePreset from "swagger-ui-dist/swagger-ui-standalone-preset.js";
import "swagger-ui-dist/swagger-ui.css";
import { ResolveLocally } from "./resolve.js";

const config = JSON.parse(document.getElementById("config").textContent);

SwaggerUIBundle({
  dom_id: "#reader",
  urls: config.documents,
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  // Tokens are not stored where another page could read them.
  persistAuthorization: false,
  // No validator badge: it calls an external host.
  validatorUrl: null,
  plugins: [ResolveLocally],
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: "StandaloneLayout",
});
