// The manual: Swagger UI over this service's own document.
SwaggerUIBundle({ url: "openapi.json", dom_id: "#docs", validatorUrl: null, deepLinking: true });
