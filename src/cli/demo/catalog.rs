//! Registers the catalogs as any client would, and reads back what the traffic needs of its tools.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use bytes::Bytes;
use serde_json::Value;
use tonic::transport::Channel;

use super::NAMESPACE;
use super::recording::Catalog;
use crate::core::ids::ToolId;
use crate::core::instance::smallest_instance;
use crate::proto::import_tools_request::Part;
use crate::proto::registry_service_client::RegistryServiceClient;
use crate::proto::{AdmissionCounts, GetToolRequest, ImportTarget, ImportToolsRequest, ToolRef};

/// Bytes of a chunk; the API takes up to twice as many.
const CHUNK: usize = 256 << 10;

/// Imports catalogs one after the other and returns how many tools came out how.
pub async fn import(channel: &Channel, catalogs: &[Catalog]) -> anyhow::Result<AdmissionCounts> {
    let mut client = RegistryServiceClient::new(channel.clone());
    let mut sum = AdmissionCounts::default();
    for catalog in catalogs {
        let target = ImportTarget {
            namespace: NAMESPACE.into(),
            file_name: catalog.file_name.into(),
            ..ImportTarget::default()
        };
        let mut parts = vec![ImportToolsRequest { part: Some(Part::Target(target)) }];
        for chunk in catalog.bytes.chunks(CHUNK) {
            parts.push(ImportToolsRequest { part: Some(Part::Chunk(Bytes::from_static(chunk))) });
        }
        let imported =
            client.import_tools(tokio_stream::iter(parts)).await.context("cannot import a catalog")?.into_inner();
        let counts = imported.counts.unwrap_or_default();
        sum.admitted += counts.admitted;
        sum.unchanged += counts.unchanged;
        sum.flagged += counts.flagged;
        sum.refused += counts.refused;
    }
    Ok(sum)
}

/// The tools that the traffic calls, as the daemon serves them.
#[derive(Debug)]
pub struct Toolbox(BTreeMap<ToolId, Served>);

#[derive(Debug)]
struct Served {
    alias: String,
    arguments: Value,
}

impl Toolbox {
    /// Asks the daemon for each tool, and makes the smallest arguments that fit its schema.
    pub async fn fetch(channel: &Channel, tools: &BTreeSet<ToolId>) -> anyhow::Result<Self> {
        let mut client = RegistryServiceClient::new(channel.clone());
        let mut toolbox = BTreeMap::new();
        for id in tools {
            let tool = ToolRef { source: id.source.to_string(), name: id.name.to_string(), version: 0 };
            let request = GetToolRequest { namespace: NAMESPACE.into(), tool: Some(tool) };
            let got = client.get_tool(request).await.context("cannot look up a tool of the traffic")?.into_inner();
            let schema = got.definition.unwrap_or_default().input_schema;
            let schema: Value =
                serde_json::from_slice(&schema).with_context(|| format!("cannot read the schema of {id}"))?;
            let alias = got.record.unwrap_or_default().alias;
            toolbox.insert(id.clone(), Served { alias, arguments: smallest_instance(&schema) });
        }
        Ok(Self(toolbox))
    }

    /// Returns the name by which a model calls a tool; for one that was not fetched, the name that traces write.
    pub fn alias(&self, tool: &ToolId) -> String {
        self.0.get(tool).map_or_else(|| format!("{}__{}", tool.source, tool.name), |served| served.alias.clone())
    }

    /// Returns made arguments for a tool.
    pub fn arguments(&self, tool: &ToolId) -> Value {
        self.0.get(tool).map_or_else(|| Value::Object(serde_json::Map::new()), |served| served.arguments.clone())
    }
}
