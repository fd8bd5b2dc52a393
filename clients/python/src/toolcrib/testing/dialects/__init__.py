"""How each provider's API is read and answered by ScriptedProvider."""
