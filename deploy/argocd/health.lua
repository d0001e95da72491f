-- Health of every kind of iam-operator.io, as kstatus reads their conditions.
local health = { status = "Progressing", message = "Waiting for iam-operator" }
if obj.metadata.deletionTimestamp ~= nil then
  health.message = "Deletion is in progress"
end
if obj.status == nil or obj.status.conditions == nil then
  return health
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Stalled" and condition.status == "True" then
    return { status = "Degraded", message = condition.message }
  end
  if condition.type == "Ready" then
    health.message = condition.message
    if condition.status == "True" then
      health.status = "Healthy"
      if condition.reason == "Suspended" then
        health.status = "Suspended"
      end
    end
  end
end
if obj.metadata.deletionTimestamp ~= nil then
  health.status = "Progressing"
end
return health
