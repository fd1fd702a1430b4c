// The reader of the REST families' OpenAPI documents, at /api/docs.
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-bundle.js";
import SwaggerUIStandalonePreset from "swagger-ui-dist/swagger-ui-standalone-preset.js";
import "swagger-ui-dist/swagger-ui.css";

const config = JSON.parse(document.getElementById("config").textContent);

SwaggerUIBundle({
  dom_id: "#reader",
  urls: config.documents,
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  // Tokens stay in this page: nothing is written where another page could read it.
  persistAuthorization: false,
  // No badge: it would ask a host outside.
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: "StandaloneLayout",
});
