//! `PolicyService`: every tunable of a namespace, read at the next call.

use std::collections::BTreeMap;

use tonic::{Request, Response, Status};

use super::Api;
use super::convert::{self, namespace};
use super::status::Fields;
use crate::core::event::PolicySet;
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::Refusal;
use crate::core::policy::{KEYS, Policy};
use crate::proto;
use crate::proto::policy_service_server::PolicyService;

#[tonic::async_trait]
impl PolicyService for Api {
    async fn get_policy(
        &self,
        request: Request<proto::GetPolicyRequest>,
    ) -> Result<Response<proto::GetPolicyResponse>, Status> {
        self.serve("/toolcrib.v1.PolicyService/GetPolicy", self.get_all(request.into_inner())).await
    }

    async fn set_policy(
        &self,
        request: Request<proto::SetPolicyRequest>,
    ) -> Result<Response<proto::SetPolicyResponse>, Status> {
        self.serve("/toolcrib.v1.PolicyService/SetPolicy", self.set(request.into_inner())).await
    }
}

impl Api {
    async fn get_all(&self, request: proto::GetPolicyRequest) -> Result<proto::GetPolicyResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        Ok(handle.look(policy_of).await?)
    }

    async fn set(&self, request: proto::SetPolicyRequest) -> Result<proto::SetPolicyResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        fields.require(!request.values.is_empty(), "values", "must name at least one key");
        let request_id = convert::request_id(&request.request_id, &mut fields);
        fields.finish()?;
        let values: BTreeMap<String, String> = request.values.into_iter().collect();
        // Values that no policy takes must not leave an empty namespace behind.
        if self.engine.namespace(&space).is_err() {
            Policy::default().with(&values).map_err(Refusal::Policy)?;
        }
        let handle = self.engine.namespace_or_new(&space).await?;
        let set = PolicySet { request_id, actor: super::registry::ACTOR.into(), values };
        let version = handle.set_policy(set, request.expected_version).await?;
        Ok(proto::SetPolicyResponse { version, durable: true })
    }
}

fn policy_of(namespace: &Namespace) -> proto::GetPolicyResponse {
    let defaults = Policy::default();
    let mut values = Vec::new();
    for key in KEYS {
        let origin = namespace.policy_origin(key.name).map(|origin| proto::PolicyOrigin {
            version: origin.version,
            time: Some(convert::timestamp(origin.at)),
            actor: origin.actor.clone(),
        });
        values.push(proto::PolicyValue {
            key: key.name.into(),
            value: key.get(namespace.policy()),
            default_value: key.get(&defaults),
            accepts: key.accepts.into(),
            unit: key.unit.into(),
            reason: key.reason.into(),
            origin,
        });
    }
    proto::GetPolicyResponse { values, version: namespace.policy_version() }
}
